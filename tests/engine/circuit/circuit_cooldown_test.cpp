#include "driven_circuit.hpp"

#include "support/catch.hpp"

#include <algorithm>
#include <set>

using namespace switchyard;
using namespace switchyard::test;

namespace {

duration remaining(const driven_circuit& c) {
  return c.it.next_probe_at().value() - c.now;
}

/// From open to open again.
void fail_a_probe(driven_circuit& c, std::optional<duration> retry_after = {}) {
  c.cool_down();
  c.end_probe(c.probe(), outcome::failure, retry_after);
}

circuit_settings hinted(bool honour = true) {
  auto s = streak_profile(2);
  s.honour_retry_after = honour;
  return s;
}

} // namespace

TEST_CASE("each reopening multiplies the cooldown, up to the maximum [C5]") {
  auto s = streak_profile(1);
  s.cooldown = 10s;
  s.cooldown_multiplier = 2;
  s.max_cooldown = 60s;
  driven_circuit c(s);
  c.trip();
  CHECK(remaining(c) == 10s);
  for (const auto expected : {20s, 40s, 60s, 60s}) {
    fail_a_probe(c);
    CHECK(remaining(c) == expected);
  }

  SECTION("closing resets it") {
    c.cool_down();
    c.end_probe(c.probe(), outcome::success);
    c.trip();
    CHECK(remaining(c) == 10s);
  }
  SECTION("an expired lease is a reopening too") {
    c.it.reset(c.now);
    c.trip();
    c.cool_down();
    c.probe();
    c.pass(60s);
    CHECK(remaining(c) == 20s);
  }
  SECTION("a reset forgets it") {
    c.it.reset(c.now);
    c.trip();
    CHECK(remaining(c) == 10s);
  }
}

TEST_CASE("a multiplier may grow without end [C5]") {
  auto s = streak_profile(1);
  s.cooldown = 1ns;
  s.cooldown_multiplier = 1e300;
  s.max_cooldown = 1h;
  driven_circuit c(s);
  c.trip();
  for (int i = 0; i < 3; ++i) { // the power overflows to infinity
    fail_a_probe(c);
    CHECK(remaining(c) == 1h);
  }
}

TEST_CASE("the longest maximum does not overflow [C5]") {
  auto s = streak_profile(1);
  s.cooldown = duration::max();
  s.max_cooldown = duration::max();
  s.cooldown_jitter = 1;
  s.probe_lease = duration::max();
  driven_circuit c(s);
  c.end(outcome::failure, duration::max());
  CHECK(c.it.next_probe_at() == time_point::max());
  CHECK(c.it.ask(c.now).what == admission_verdict::kind::refused);
}

TEST_CASE("jitter spreads the cooldown within its share and below the maximum [C5]") {
  auto s = streak_profile(1);
  s.cooldown = 100s;
  s.max_cooldown = 110s;
  s.cooldown_jitter = 0.2;
  std::set<duration> seen;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    driven_circuit c(s, seed);
    c.trip();
    const auto d = remaining(c);
    REQUIRE(d >= 80s);
    REQUIRE(d <= 110s);
    seen.insert(d);
  }
  CHECK(*seen.begin() < 85s);
  CHECK(*seen.rbegin() == 110s); // cut off, not folded back
  CHECK(seen.size() > 300);
}

TEST_CASE("the same seed gives the same jitter, from one cooldown to the next another [C5]") {
  auto s = streak_profile(1);
  s.cooldown_jitter = 0.5;
  driven_circuit a(s, 7), b(s, 7);
  std::set<duration> seen;
  a.trip();
  b.trip();
  for (int i = 0; i < 20; ++i) {
    REQUIRE(remaining(a) == remaining(b));
    seen.insert(remaining(a));
    fail_a_probe(a);
    fail_a_probe(b);
  }
  CHECK(seen.size() == 20);
}

TEST_CASE("a Retry-After longer than the cooldown lengthens it [C5]") {
  driven_circuit c(hinted());
  c.end(outcome::failure);
  c.end(outcome::failure, 90s);
  CHECK(remaining(c) == 90s);
}

TEST_CASE("the largest Retry-After since the circuit closed counts, from its own outcome [C5]") {
  driven_circuit c(hinted());
  c.end(outcome::failure, 120s);
  c.pass(20s);
  c.end(outcome::failure, 40s); // shorter and later: shortens nothing
  CHECK(remaining(c) == 100s);
}

TEST_CASE("a success in between does not make the hint go away [C5]") {
  driven_circuit c(hinted());
  c.end(outcome::failure, 120s);
  c.end(outcome::success);
  c.trip();
  CHECK(remaining(c) == 120s);
}

TEST_CASE("a missing, past, zero or negative hint changes nothing [C5]") {
  driven_circuit c(hinted());
  c.end(outcome::failure, 10s);
  c.pass(10s);
  const auto hint = GENERATE(std::optional<duration>{}, std::optional<duration>{0s}, std::optional<duration>{-5s},
                             std::optional<duration>{duration::min()}, std::optional<duration>{29s});
  c.end(outcome::failure, hint);
  CHECK(remaining(c) == 30s);
}

TEST_CASE("a hint goes no further than the maximum, and on from there at the next reopening [C5]") {
  driven_circuit c(hinted());
  c.end(outcome::failure);
  c.end(outcome::failure, 12min);
  CHECK(remaining(c) == 5min);
  fail_a_probe(c);
  CHECK(remaining(c) == 5min);
  fail_a_probe(c);
  CHECK(remaining(c) == 2min); // 12 minutes from the outcome that gave the hint
  fail_a_probe(c);
  CHECK(remaining(c) == 30s);
}

TEST_CASE("a probe's hint counts [C5]") {
  driven_circuit c(hinted());
  c.trip();
  fail_a_probe(c, 45s);
  CHECK(remaining(c) == 45s);
}

TEST_CASE("closing forgets the hints [C5][C10]") {
  driven_circuit c(hinted());
  c.end(outcome::failure, 4min);
  c.end(outcome::failure);
  c.it.reset(c.now);
  c.trip();
  CHECK(remaining(c) == 30s);
}

TEST_CASE("hints are ignored unless they are to be honoured [C5]") {
  driven_circuit c(hinted(false));
  c.end(outcome::failure, 4min);
  c.end(outcome::failure);
  CHECK(remaining(c) == 30s);
}

TEST_CASE("jitter never takes a cooldown below a hint [C5]") {
  auto s = hinted();
  s.cooldown_jitter = 1;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    driven_circuit c(s, seed);
    c.end(outcome::failure);
    c.end(outcome::failure, 30s);
    REQUIRE(remaining(c) >= 30s);
  }
}
