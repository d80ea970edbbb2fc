#pragma once

#include "switchyard/engine/answer_payload.hpp"
#include "switchyard/engine/error_code.hpp"
#include "switchyard/engine/request_flow.hpp"
#include "switchyard/engine/time.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace switchyard {

/// Who served a request.
struct served_by {
  std::string route, provider, model, region;
};

/// How a request ended. A joiner of an idempotency key shares the leader's `payload`.
struct request_result {
  enum class kind : std::uint8_t {
    answer,         ///< a success
    provider_error, ///< an HTTP error of the provider, unchanged
    own_error,      ///< one of Switchyard's own: `code`
  } what = kind::own_error;

  using payload = answer_payload;         ///< of an answer or a provider's error
  std::shared_ptr<const payload> content; ///< null for an own error

  std::optional<failure_class> failure; ///< nothing for a success
  errc code = errc::internal;           ///< of an own error; upstream_error with a provider's error
  std::string message;                  ///< of an own error, for a person
  bool all_refused = false;             ///< see http_status
  std::optional<duration> retry_after;
  std::vector<trail_entry> trail; ///< every failed attempt and refusal, in order [B4]
  served_by served;               ///< empty for an own error
  std::uint32_t attempts = 0;     ///< sent upstream for this request [R5]
  std::uint32_t fallbacks = 0;
  bool streamed = false; ///< the answer has flowed, or begun to, to the stream's receiver; `content` has no body
  bool replayed = false; ///< a stored answer, or a leader's
  bool cached = false;   ///< from the cache, or shared with the request that fills it [U3]
  degradation degraded = degradation::none;
  std::optional<duration> age; ///< of a cached answer

  bool ok() const noexcept { return what == kind::answer; }
};

} // namespace switchyard
