#pragma once

#include "switchyard/engine/settings.hpp"
#include "switchyard/engine/time.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace switchyard {

/// One scored attempt [H2]: the caller has already left out what does not count.
struct health_sample {
  wall_time at{};
  bool success = false;
  duration latency{}; ///< of a success; ignored for a failure [H3]
};

/// The figures of a window. Unknown ones are nothing [H8].
struct health_figures {
  std::uint64_t samples = 0;
  std::optional<double> score; ///< [H1]; nothing below `minimum_samples`
  std::optional<double> success_rate;
  std::optional<duration> mean_latency, p50, p95, p99; ///< of successes; nothing without a success
};

/// 0.8 * success_rate + 0.2 * (1 - min(1, mean_latency / latency_reference)) [H1]; without a success the second term is
/// 0.
double health_score(double success_rate, std::optional<duration> mean_latency, duration latency_reference) noexcept;

/// A rolling window of attempts in a bounded number of buckets of wall time, each with counts, a latency sum and a
/// bounded latency histogram. Adding and asking cost the same however many samples there were [H3, H6].
///
/// A bucket lasts a 60th of the window and starts at a multiple of that since the epoch, so that the same samples, in
/// any order, also after a restart, fall into the same buckets and give the same figures [H5]. The window at `now` is
/// the bucket of `now` and the 59 before it: never longer than configured, and at most one bucket shorter. A clock set
/// back never lengthens it [C18]: samples from the future of `now` by more than one bucket are left out.
///
/// Percentiles are by nearest rank: the geometric middle of the bin of that rank, which is within 2.5 % of the true
/// value between 1 ms and 1 h, and is never below the smallest or above the largest latency in the window. Not
/// thread-safe.
class health_window {
public:
  static constexpr std::size_t bucket_count = 60;

  explicit health_window(const health_settings& s);

  /// Counts a sample, if it is in the window at `now`. A negative latency counts as 0.
  void add(const health_sample& s, wall_time now);

  /// The figures of the window at `now`. Changes nothing, so it may be asked for any time.
  health_figures figures(wall_time now) const;

private:
  /// One bin of a sparse histogram; its numbers are log-scaled (see the source).
  struct bin {
    std::uint16_t number = 0;
    std::uint32_t count = 0;
  };
  struct bucket {
    std::int64_t number = 0; ///< periods since the epoch
    std::uint64_t calls = 0; ///< 0: the bucket is empty
    std::uint64_t successes = 0;
    // The sum of latencies in two parts: exact in any order, and out of reach of an overflow.
    std::uint64_t latency_seconds = 0, latency_nanoseconds = 0;
    duration shortest = duration::max(), longest = duration::zero();
    std::vector<bin> latencies; ///< ascending by number
  };

  std::int64_t bucket_number(wall_time t) const noexcept;
  bool in_window(std::int64_t number, std::int64_t current) const noexcept;

  duration reference_;
  std::uint64_t minimum_samples_;
  duration period_; ///< of one bucket
  /// The window and one bucket of the near future: a bucket's place is its number modulo the size.
  std::array<bucket, bucket_count + 1> buckets_;
};

} // namespace switchyard
