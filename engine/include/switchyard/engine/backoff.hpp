#pragma once

#include "switchyard/engine/settings.hpp"
#include "switchyard/engine/time.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace switchyard {

/// The delay before retry number `n` (0 for the first retry): min(base * multiplier^n, max), spread by +-jitter
/// and never above max [R2]. `uniform` is a random number in [0, 1).
duration backoff_delay(const retry_settings& s, std::uint32_t n, double uniform) noexcept;

/// The wait asked for by Retry-After (whole seconds or an HTTP date, RFC 9110 10.2.3) or `retry-after-ms`, whichever
/// is given; milliseconds win. Nothing for absent, past or senseless values [R4]. `now` is the wall clock, for dates.
/// The result is at most 366 days.
std::optional<duration> parse_retry_after(std::string_view retry_after, std::string_view retry_after_ms,
                                          wall_time now) noexcept;

} // namespace switchyard
