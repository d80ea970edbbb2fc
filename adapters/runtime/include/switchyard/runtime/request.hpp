#pragma once

// What a program submits to a runtime, and what it gets back.

#include "switchyard/actors/request_result.hpp"
#include "switchyard/engine/cache_control.hpp"
#include "switchyard/engine/header_list.hpp"
#include "switchyard/engine/time.hpp"
#include "switchyard/runtime/error_category.hpp"

#include <boost/assert/source_location.hpp>
#include <boost/system/result.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace switchyard {

/// A request. What is wrong with it is told by the completion, as invalid_request or unknown_route.
struct request {
  request() = default;
  /// Not an aggregate: GCC 12 destroys a braced aggregate within a co_await expression twice.
  request(std::string route_name, std::string json) : route(std::move(route_name)), body(std::move(json)) {}

  std::string route;                              ///< name of an active route; case does not count [B1]
  std::string operation = "/v1/chat/completions"; ///< path; `/v1/X` goes to the provider's base URL + `/X`
  std::string body;      ///< a JSON object; its `model` is replaced by the provider's, and may be missing
  header_list headers{}; ///< to pass on to the provider
  std::optional<std::string> idempotency_key{}; ///< 1-255 characters of 0x21-0x7E [I1]
  std::optional<duration> idempotency_ttl{};    ///< > 0; the configured one without it. Ignored without a key
  std::string tenant{};                         ///< scopes the key; without zero bytes
  std::string request_id{};                     ///< 1-128 of [A-Za-z0-9._-]; empty: one is made
  std::optional<duration> timeout{};            ///< > 0; the smaller of it and the route's deadline rules [B8]
  bool fallback = true;                         ///< false: the primary route only
  cache_directives cache{};                     ///< what is wanted of the cache, where there is one [U3]
};

/// A success: an answer of a provider, or a stored one. Of a stream: its end; `body` is empty when it has flowed.
struct response {
  int status = 0;
  header_list headers;
  std::string body;
  switchyard::served_by served_by;
  std::uint32_t attempts = 0;               ///< sent to providers for this request; 0 for a replay [R5]
  std::uint32_t fallbacks = 0;              ///< routes left behind before the serving one
  bool streamed = false;                    ///< it has flowed to the sink
  bool cached = false;                      ///< of the cache, or shared with the request that fills it [U3]
  degradation degraded = degradation::none; ///< whether it is a model's fresh answer
  std::optional<duration> age{};            ///< of a cached answer
  bool replayed = false; ///< the stored answer of this key, or that of the request which led it [I4, I5]
  std::string request_id;
};

/// A failure, with all that is known of it.
struct request_error {
  /// An HTTP answer of a provider that ended the request, unchanged.
  struct answer {
    int status = 0;
    header_list headers;
    std::string body;
  };

  errc code = errc::internal;
  failure_class what = failure_class::unknown; ///< class of the last failure, or what `code` amounts to
  std::string message;                         ///< for a person; no secret, no text of a provider
  std::vector<trail_entry> trail;              ///< every failed attempt and refusal, in order [B4]
  std::optional<duration> retry_after;         ///< the smallest known wait
  std::optional<answer> provider_answer;       ///< with upstream_error
  bool streamed = false;                       ///< part of a stream has flowed to the sink before
  std::uint32_t attempts = 0;
  std::uint32_t fallbacks = 0;
  std::string request_id; ///< empty when the request was not taken

  /// The code alone, in `category()`.
  operator boost::system::error_code() const noexcept {
    return make_error_code(code);
  } // NOLINT(google-explicit-constructor)
};

/// How a submit ends. `value()` of a failure throws boost::system::system_error with the code and the message.
using submit_result = boost::system::result<response, request_error>;

[[noreturn]] void throw_exception_from_error(const request_error& error, const boost::source_location& where);

} // namespace switchyard
