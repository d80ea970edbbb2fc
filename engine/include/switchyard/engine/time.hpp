#pragma once

// Types for time. The engine never reads a clock: every decision takes the time as an argument, so that
// tests and simulations decide what time it is. Waits in the process use the monotonic type, persisted
// ages the wall type [C18].

#include <chrono>
#include <cstdint>

namespace switchyard {

/// A length of time, in nanoseconds.
using duration = std::chrono::nanoseconds;

/// A point on the monotonic clock. Comparable only within one process.
using time_point = std::chrono::time_point<std::chrono::steady_clock, duration>;

/// A point on the wall clock (UTC), for what is written down.
using wall_time = std::chrono::time_point<std::chrono::system_clock, duration>;

/// `t + d`, or the last point in time if that lies beyond it. `d` is not negative.
constexpr time_point plus(time_point t, duration d) noexcept {
  return t > time_point::max() - d ? time_point::max() : t + d;
}

/// Whole milliseconds, rounded up, so that a positive wait never reads as zero.
constexpr std::int64_t ceil_ms(duration d) noexcept {
  return std::chrono::ceil<std::chrono::milliseconds>(d).count();
}

/// Milliseconds as a real number, for figures that people read.
constexpr double to_ms(duration d) noexcept {
  return std::chrono::duration<double, std::milli>(d).count();
}

} // namespace switchyard
