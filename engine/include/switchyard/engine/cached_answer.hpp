#pragma once

// What the cache holds [U3], and what a client may say about it.

#include "switchyard/engine/time.hpp"

#include <optional>
#include <string>

namespace switchyard {

/// A whole answer that was usable and not a fallback's.
struct cached_answer {
  int status = 200;
  std::string content_type;
  std::string body;
};

/// What a request wants of the cache: the part of RFC 9111, section 5.2.1, that is honoured.
struct cache_directives {
  bool read = true;  ///< false for `no-cache` and `no-store`: no stored answer, a fresh one is wanted
  bool store = true; ///< false for `no-store`: the answer is neither kept nor shared with who asks at the same time
  std::optional<duration> max_age; ///< `max-age`: an older stored answer is not wanted

  friend bool operator==(const cache_directives&, const cache_directives&) = default;
};

} // namespace switchyard
