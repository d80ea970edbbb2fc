#pragma once

#include "switchyard/engine/header_list.hpp"

#include <cstdint>
#include <string>

namespace switchyard {

/// What an answer may be instead of a model's fresh one.
enum class degradation : std::uint8_t {
  none,
  stale,        ///< an expired answer of the cache, because every route has failed [U3]
  static_answer ///< the fixed answer of a static provider
};

/// An HTTP answer as a whole. Requests that get the same one share it.
struct answer_payload {
  int status = 0;
  header_list headers;
  std::string body;
};

} // namespace switchyard
