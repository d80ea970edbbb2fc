#include "switchyard/engine/health_window.hpp"

#include "support/catch.hpp"

#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <random>

using namespace switchyard;

namespace {

constexpr duration period = 15s; // a bucket of the default window of 15 min

// A wall time in the middle of a bucket.
constexpr wall_time start{std::chrono::seconds{1'750'000'500} + period / 2};
static_assert(start.time_since_epoch() % period == period / 2);

health_sample success(wall_time at, duration latency) {
  return {at, true, latency};
}

health_sample failure(wall_time at) {
  return {at, false, 0ms};
}

// What the window must say, from all samples at once.
struct naive_window {
  health_settings settings;
  std::vector<health_sample> samples;

  std::vector<health_sample> in_window(wall_time now) const {
    const auto bucket = [](wall_time t) { return t.time_since_epoch() / period; };
    std::vector<health_sample> inside;
    std::ranges::copy_if(samples, std::back_inserter(inside), [&](const health_sample& s) {
      return bucket(s.at) > bucket(now) - 60 && bucket(s.at) <= bucket(now) + 1;
    });
    return inside;
  }
};

void check_percentile(std::optional<duration> estimate, const std::vector<duration>& sorted, std::size_t percent) {
  const auto rank = std::max<std::size_t>(1, (sorted.size() * percent + 99) / 100);
  const auto exact = sorted[rank - 1];
  RC_ASSERT(estimate.has_value());
  RC_ASSERT(*estimate >= sorted.front());
  RC_ASSERT(*estimate <= sorted.back());
  if (exact >= 1ms && exact < 1h)
    RC_ASSERT(std::abs(to_ms(*estimate) / to_ms(exact) - 1) <= 0.0251);
}

void check_same(const health_figures& a, const health_figures& b) {
  RC_ASSERT(a.samples == b.samples);
  RC_ASSERT(a.score == b.score);
  RC_ASSERT(a.success_rate == b.success_rate);
  RC_ASSERT(a.mean_latency == b.mean_latency);
  RC_ASSERT(a.p50 == b.p50);
  RC_ASSERT(a.p95 == b.p95);
  RC_ASSERT(a.p99 == b.p99);
}

std::vector<health_sample> draw_samples(wall_time from, duration spread) {
  const auto seeds = *rc::gen::container<std::vector<std::uint32_t>>(
      rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint32_t>()));
  std::vector<health_sample> samples;
  for (auto seed : seeds) {
    std::mt19937_64 random(seed);
    const auto at = from + duration{static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(spread.count()))};
    // From microseconds to hours, evenly over the orders of magnitude.
    const auto latency = duration{std::llround(std::pow(10, 3 + static_cast<double>(random() % 1000) / 95))};
    samples.push_back({at, random() % 4 != 0, latency});
  }
  return samples;
}

} // namespace

TEST_CASE("the score is the formula's [H1]") {
  CHECK(health_score(0.9, 200ms, 5s) == Approx(0.912).margin(1e-9));
  CHECK(health_score(1, 0ms, 5s) == Approx(1.0).margin(1e-9));
  CHECK(health_score(1, 5s, 5s) == Approx(0.8).margin(1e-9));
  CHECK(health_score(1, 1h, 5s) == Approx(0.8).margin(1e-9));
  CHECK(health_score(0, std::nullopt, 5s) == 0);
  CHECK(health_score(1, 1s, 0s) == Approx(0.8).margin(1e-9));
}

TEST_CASE("nine of ten at 200 ms with a reference of 5 s score 0.912 [H1]") {
  health_window w{health_settings{}};
  for (int i = 0; i < 9; ++i)
    w.add(success(start, 200ms), start);
  w.add(failure(start), start);
  const auto f = w.figures(start);
  CHECK(f.samples == 10);
  CHECK(f.score.value() == Approx(0.912).margin(1e-9));
  CHECK(f.success_rate.value() == Approx(0.9));
  CHECK(f.mean_latency == 200ms);
}

TEST_CASE("no data is no data, not a figure [H8]") {
  health_settings s;
  s.minimum_samples = 0;
  const health_window w{s};
  const auto f = w.figures(start);
  CHECK(f.samples == 0);
  CHECK_FALSE(f.score.has_value());
  CHECK_FALSE(f.success_rate.has_value());
  CHECK_FALSE(f.mean_latency.has_value());
  CHECK_FALSE(f.p50.has_value());
  CHECK_FALSE(f.p95.has_value());
  CHECK_FALSE(f.p99.has_value());
}

TEST_CASE("below the minimum of samples the score is unknown, the rest is not [H1]") {
  health_settings s;
  s.minimum_samples = 3;
  health_window w{s};
  w.add(success(start, 1s), start);
  w.add(success(start, 1s), start);
  CHECK_FALSE(w.figures(start).score.has_value());
  CHECK(w.figures(start).success_rate == 1.0);
  w.add(failure(start), start);
  CHECK(w.figures(start).score.has_value());
}

TEST_CASE("failures have no part in latencies [H3]") {
  health_window w{health_settings{}};
  w.add({start, false, 1h}, start);
  CHECK(w.figures(start).success_rate == 0.0);
  CHECK(w.figures(start).score == 0.0);
  CHECK_FALSE(w.figures(start).mean_latency.has_value());
  CHECK_FALSE(w.figures(start).p50.has_value());
  w.add(success(start, 100ms), start);
  CHECK(w.figures(start).mean_latency == 100ms);
  CHECK(w.figures(start).p99 == 100ms);
}

TEST_CASE("a mean is exact where a sum in nanoseconds would overflow [H3]") {
  health_window w{health_settings{}};
  for (int i = 0; i < 10; ++i)
    w.add(success(start, duration::max()), start);
  CHECK(w.figures(start).mean_latency == duration::max());
  w.add(success(start, -5s), start); // counts as 0
  CHECK(w.figures(start).p50 == duration::max());
}

TEST_CASE("latencies beyond the histogram read as the extremes that were seen [H3]") {
  health_window w{health_settings{}};
  w.add(success(start, 20us), start);
  CHECK(w.figures(start).p50 == 20us);
  w.add(success(start, 3h), start);
  CHECK(w.figures(start).p50 == 20us);
  CHECK(w.figures(start).p99 == 3h);
}

TEST_CASE("percentiles are within the width of a bin [H3]") {
  health_window w{health_settings{}};
  for (int ms = 1; ms <= 1000; ++ms)
    w.add(success(start, std::chrono::milliseconds{ms}), start);
  const auto f = w.figures(start);
  CHECK(to_ms(f.p50.value()) == Approx(500).epsilon(0.0251));
  CHECK(to_ms(f.p95.value()) == Approx(950).epsilon(0.0251));
  CHECK(to_ms(f.p99.value()) == Approx(990).epsilon(0.0251));
}

TEST_CASE("a sample leaves after the window, by the clock alone [H1]") {
  health_window w{health_settings{}};
  w.add(success(start, 1s), start);
  CHECK(w.figures(start + 59 * period).samples == 1);
  CHECK(w.figures(start + 60 * period).samples == 0);
  w.add(success(start, 1s), start + 60 * period); // too old by now
  CHECK(w.figures(start + 59 * period).samples == 1);
}

TEST_CASE("a bucket that is used again holds nothing of its former time [H1]") {
  health_window w{health_settings{}};
  w.add(success(start, 1s), start);
  const auto later = start + 61 * period; // the same place in the ring
  w.add(success(later, 3s), later);
  CHECK(w.figures(later).samples == 1);
  CHECK(w.figures(later).mean_latency == 3s);
  CHECK(w.figures(later).p50 == 3s);
}

TEST_CASE("samples from the future count up to one bucket ahead [C18]") {
  health_window w{health_settings{}};
  w.add(success(start + period, 1s), start);
  CHECK(w.figures(start).samples == 1);
  w.add(success(start + 2 * period, 1s), start);
  CHECK(w.figures(start).samples == 1);
  CHECK(w.figures(start + 2 * period).samples == 1);
}

TEST_CASE("a sample from the next bucket drives none out of the window [H5]") {
  health_window w{health_settings{}};
  w.add(success(start, 1s), start);
  const auto now = start + 59 * period; // the oldest bucket that still counts
  w.add(success(now + period, 1s), now);
  CHECK(w.figures(now).samples == 2);
}

TEST_CASE("a clock set back hides samples, and new ones count at once [C18]") {
  health_window w{health_settings{}};
  w.add(success(start, 1s), start);
  const auto back = start - 61 * period; // the same place in the ring
  CHECK(w.figures(back).samples == 0);
  w.add(success(back, 2s), back);
  CHECK(w.figures(back).samples == 1);
  CHECK(w.figures(back).mean_latency == 2s);
}

TEST_CASE("times before the epoch have buckets of the same length") {
  health_window w{health_settings{}};
  const wall_time epoch{};
  w.add(success(epoch - 1ns, 1s), epoch);
  w.add(success(epoch + 1ns, 1s), epoch);
  CHECK(w.figures(epoch).samples == 2);
  CHECK(w.figures(epoch + 60 * period - 1ns).samples == 1);
}

TEST_CASE("the figures are those of all samples in the window [H1, H3]") {
  REQUIRE(rc::check("equal to a naive recomputation", [] {
    naive_window naive{.settings = {}, .samples = draw_samples(start, 20min)};
    std::ranges::sort(naive.samples, {}, &health_sample::at);
    health_window w{naive.settings};
    for (const auto& s : naive.samples)
      w.add(s, s.at); // as they happen
    const auto now = start + 20min;

    const auto inside = naive.in_window(now);
    std::vector<duration> latencies;
    long double sum = 0;
    for (const auto& s : inside) {
      if (!s.success)
        continue;
      latencies.push_back(s.latency);
      sum += static_cast<long double>(s.latency.count());
    }
    std::ranges::sort(latencies);

    const auto f = w.figures(now);
    RC_ASSERT(f.samples == inside.size());
    RC_ASSERT(f.mean_latency.has_value() == !latencies.empty());
    if (inside.empty())
      return;
    const auto rate = static_cast<double>(latencies.size()) / static_cast<double>(inside.size());
    RC_ASSERT(f.success_rate == rate);
    RC_ASSERT(f.score == health_score(rate, f.mean_latency, 5s));
    if (latencies.empty())
      return;
    RC_ASSERT(f.mean_latency->count() == static_cast<std::int64_t>(sum / latencies.size()));
    check_percentile(f.p50, latencies, 50);
    check_percentile(f.p95, latencies, 95);
    check_percentile(f.p99, latencies, 99);
  }));
}

TEST_CASE("a rebuild from the log in any order gives the same figures [H5]") {
  REQUIRE(rc::check("order does not matter", [] {
    auto samples = draw_samples(start, 20min);
    std::ranges::sort(samples, {}, &health_sample::at);
    health_window live{health_settings{}}, rebuilt{health_settings{}};
    for (const auto& s : samples)
      live.add(s, s.at);
    std::mt19937 random(*rc::gen::arbitrary<std::uint32_t>());
    std::shuffle(samples.begin(), samples.end(), random);
    const auto now = start + 20min;
    for (const auto& s : samples)
      rebuilt.add(s, now);
    for (duration later : {0min, 5min, 14min, 16min})
      check_same(live.figures(now + later), rebuilt.figures(now + later));
  }));
}
