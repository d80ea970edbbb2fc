#include "switchyard/engine/health_window.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace switchyard {

namespace {

// Bins of the latency histogram: number 0 is below `lowest`, the last one from `highest` on, and bin i between them is
// [lowest * growth^(i-1), lowest * growth^i).
constexpr double lowest = 1e6;     // nanoseconds: 1 ms
constexpr double highest = 3.6e12; // 1 h
constexpr double growth = 1.05;
constexpr std::size_t bin_count = 312;
constexpr std::size_t overflow_bin = bin_count - 1;

const double log_growth = std::log(growth);

std::uint16_t bin_number(duration latency) noexcept {
  const auto ns = static_cast<double>(latency.count());
  if (ns < lowest)
    return 0;
  if (ns >= highest)
    return overflow_bin;
  return static_cast<std::uint16_t>(1 + static_cast<std::size_t>(std::log(ns / lowest) / log_growth));
}

// The latency that stands for a bin. The outermost bins have no middle; the caller keeps to the observed extremes.
duration bin_middle(std::size_t number) noexcept {
  if (number == 0)
    return duration::zero();
  if (number == overflow_bin)
    return duration::max();
  return duration{std::llround(lowest * std::exp(log_growth * (static_cast<double>(number) - 0.5)))};
}

// What the buckets of a window add up to.
struct merged {
  std::uint64_t calls = 0, successes = 0;
  std::uint64_t latency_seconds = 0, latency_nanoseconds = 0;
  duration shortest = duration::max(), longest = duration::zero();
  std::array<std::uint64_t, bin_count> latencies{};

  // There must be a success.
  duration mean_latency() const noexcept {
    constexpr std::uint64_t second = 1'000'000'000;
    const auto rest = latency_seconds % successes * second + latency_nanoseconds;
    return std::chrono::seconds{latency_seconds / successes} + duration{rest / successes};
  }

  // There must be a success.
  duration percentile(std::uint64_t percent) const noexcept {
    const auto rank = std::max<std::uint64_t>(1, (successes * percent + 99) / 100);
    std::uint64_t passed = 0;
    std::size_t number = 0;
    while (number < overflow_bin && (passed += latencies[number]) < rank)
      ++number;
    return std::clamp(bin_middle(number), shortest, longest);
  }
};

} // namespace

double health_score(double success_rate, std::optional<duration> mean_latency, duration latency_reference) noexcept {
  double speed = 0;
  if (mean_latency && latency_reference > duration::zero()) {
    const auto share = static_cast<double>(mean_latency->count()) / static_cast<double>(latency_reference.count());
    speed = 1 - std::min(1.0, share);
  }
  return 0.8 * success_rate + 0.2 * speed;
}

health_window::health_window(const health_settings& s)
    : reference_(s.latency_reference),
      minimum_samples_(s.minimum_samples),
      // Whatever a division leaves over is dropped: the window must not become longer than configured.
      period_(std::max(duration{1}, s.window / static_cast<duration::rep>(bucket_count))) {}

std::int64_t health_window::bucket_number(wall_time t) const noexcept {
  const auto since_epoch = t.time_since_epoch();
  const auto number = since_epoch / period_;
  return since_epoch % period_ < duration::zero() ? number - 1 : number;
}

bool health_window::in_window(std::int64_t number, std::int64_t current) const noexcept {
  constexpr auto reach = static_cast<std::int64_t>(bucket_count);
  return number > current - reach && number <= current + 1;
}

void health_window::add(const health_sample& s, wall_time now) {
  const auto number = bucket_number(s.at);
  if (!in_window(number, bucket_number(now)))
    return;
  constexpr auto size = static_cast<std::int64_t>(bucket_count + 1);
  auto& b = buckets_[static_cast<std::size_t>((number % size + size) % size)];
  // No two buckets of one window share a place, so another number here is outside of it, on whichever side.
  if (b.number != number) {
    b.latencies.clear();
    b = bucket{.number = number, .latencies = std::move(b.latencies)};
  }
  ++b.calls;
  if (!s.success)
    return;
  ++b.successes;
  const auto latency = std::max(s.latency, duration::zero());
  const auto seconds = std::chrono::floor<std::chrono::seconds>(latency);
  b.latency_seconds += static_cast<std::uint64_t>(seconds.count());
  b.latency_nanoseconds += static_cast<std::uint64_t>((latency - seconds).count());
  b.shortest = std::min(b.shortest, latency);
  b.longest = std::max(b.longest, latency);
  const auto bin_of_latency = bin_number(latency);
  auto place = std::ranges::lower_bound(b.latencies, bin_of_latency, {}, &bin::number);
  if (place == b.latencies.end() || place->number != bin_of_latency)
    place = b.latencies.insert(place, bin{bin_of_latency, 0});
  ++place->count;
}

health_figures health_window::figures(wall_time now) const {
  merged sum;
  const auto current = bucket_number(now);
  for (const auto& b : buckets_) {
    if (b.calls == 0 || !in_window(b.number, current))
      continue;
    sum.calls += b.calls;
    sum.successes += b.successes;
    sum.latency_seconds += b.latency_seconds;
    sum.latency_nanoseconds += b.latency_nanoseconds;
    sum.shortest = std::min(sum.shortest, b.shortest);
    sum.longest = std::max(sum.longest, b.longest);
    for (const auto& [number, count] : b.latencies)
      sum.latencies[number] += count;
  }

  health_figures figures;
  figures.samples = sum.calls;
  if (sum.calls == 0)
    return figures; // no data is nothing, not 0 [H8]
  figures.success_rate = static_cast<double>(sum.successes) / static_cast<double>(sum.calls);
  if (sum.successes != 0) {
    figures.mean_latency = sum.mean_latency();
    figures.p50 = sum.percentile(50);
    figures.p95 = sum.percentile(95);
    figures.p99 = sum.percentile(99);
  }
  if (sum.calls >= minimum_samples_)
    figures.score = health_score(*figures.success_rate, figures.mean_latency, reference_);
  return figures;
}

} // namespace switchyard
