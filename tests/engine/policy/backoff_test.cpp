#include "switchyard/engine/backoff.hpp"

#include "support/catch.hpp"

#include <rapidcheck.h>

#include <cmath>

using namespace switchyard;

namespace {

constexpr double middle = 0.5; // the random number that leaves a delay as it is

retry_settings without_jitter() {
  retry_settings s;
  s.jitter = 0;
  return s;
}

} // namespace

TEST_CASE("the delay grows by the multiplier up to the maximum [R2]") {
  const auto s = without_jitter(); // 500 ms, doubled, at most 10 s
  CHECK(backoff_delay(s, 0, middle) == 500ms);
  CHECK(backoff_delay(s, 1, middle) == 1s);
  CHECK(backoff_delay(s, 2, middle) == 2s);
  CHECK(backoff_delay(s, 4, middle) == 8s);
  CHECK(backoff_delay(s, 5, middle) == 10s);
  CHECK(backoff_delay(s, 6, middle) == 10s);
}

TEST_CASE("a multiplier of one keeps the delay [R2]") {
  auto s = without_jitter();
  s.multiplier = 1;
  CHECK(backoff_delay(s, 0, middle) == 500ms);
  CHECK(backoff_delay(s, 1000, middle) == 500ms);
}

TEST_CASE("a power beyond all numbers is the maximum [R2]") {
  auto s = without_jitter();
  CHECK(backoff_delay(s, 4'000'000'000u, middle) == 10s);
  s.max_delay = duration::max();
  CHECK(backoff_delay(s, 4'000'000'000u, middle) == duration::max());
}

TEST_CASE("jitter spreads a delay to both sides by its share [R2]") {
  retry_settings s;
  s.jitter = 0.2;
  CHECK(backoff_delay(s, 0, 0.0) == 400ms);
  CHECK(backoff_delay(s, 0, middle) == 500ms);
  CHECK(backoff_delay(s, 0, 0.75) == 550ms);
}

TEST_CASE("jitter never exceeds the maximum [R2]") {
  retry_settings s;
  s.jitter = 1;
  CHECK(backoff_delay(s, 10, 0.999) == s.max_delay);
  CHECK(backoff_delay(s, 10, 0.0) == 0ms);
}

TEST_CASE("no base or no maximum is no delay [R2]") {
  auto s = without_jitter();
  s.base_delay = 0ms;
  CHECK(backoff_delay(s, 4'000'000'000u, middle) == 0ms);
  s = without_jitter();
  s.max_delay = 0ms;
  CHECK(backoff_delay(s, 0, middle) == 0ms);
}

TEST_CASE("every delay keeps within its jitter and the maximum [R2]") {
  REQUIRE(rc::check("delay within bounds", [] {
    retry_settings s;
    s.base_delay = duration{*rc::gen::inRange<std::int64_t>(1, 10'000'000'000)};
    s.max_delay = duration{*rc::gen::inRange<std::int64_t>(1, 1'000'000'000'000)};
    s.multiplier = 1 + *rc::gen::inRange(0, 9000) / 1000.0;
    s.jitter = *rc::gen::inRange(0, 1001) / 1000.0;
    const auto n = *rc::gen::inRange<std::uint32_t>(0, 400);
    const auto uniform = *rc::gen::inRange(0, 1'000'000) / 1e6;

    const auto delay = backoff_delay(s, n, uniform);
    const auto plain = std::min(static_cast<double>(s.base_delay.count()) * std::pow(s.multiplier, n),
                                static_cast<double>(s.max_delay.count()));
    RC_ASSERT(delay >= duration::zero());
    RC_ASSERT(delay <= s.max_delay);
    RC_ASSERT(static_cast<double>(delay.count()) >= plain * (1 - s.jitter) - 1);
    RC_ASSERT(static_cast<double>(delay.count()) <= plain * (1 + s.jitter) + 1);
    RC_ASSERT(delay == backoff_delay(s, n, uniform)); // the same draw, the same delay
  }));
}
