#pragma once

// What a client may say about the cache [U3].

#include "switchyard/engine/time.hpp"

#include <optional>
#include <string_view>

namespace switchyard {

/// What a request wants of the cache: the part of RFC 9111, section 5.2.1, that is honoured.
struct cache_directives {
  bool read = true;                ///< false for `no-cache` and `no-store`: a fresh answer is wanted
  bool store = true;               ///< false for `no-store`: the answer is neither kept nor shared
  std::optional<duration> max_age; ///< `max-age`: an older stored answer is not wanted; 0: none at all

  /// Whether neither a stored answer will do nor that of a call which has already begun.
  bool want_fresh() const noexcept { return !read || (max_age && *max_age <= duration::zero()); }

  friend bool operator==(const cache_directives&, const cache_directives&) = default;
};

/// Reads the value of a request's Cache-Control; several fields are one list, joined by commas (RFC 9110, section 5.3).
/// Unknown directives and malformed ones say nothing; of a directive given twice the stricter counts. Never fails.
cache_directives parse_cache_control(std::string_view value);

} // namespace switchyard
