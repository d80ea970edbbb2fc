#include "driven_circuit.hpp"

#include "support/catch.hpp"

#include <random>

using namespace switchyard;
using namespace switchyard::test;

TEST_CASE("exactly the N-th consecutive failure opens [C1][C4]") {
  const auto threshold = GENERATE(1u, 2u, 5u, 1000u);
  driven_circuit c(streak_profile(threshold));
  for (std::uint32_t i = 1; i < threshold; ++i) {
    c.end(outcome::failure);
    REQUIRE(c.it.state() == circuit_state::closed);
    REQUIRE(c.it.distance(c.now).outcomes == threshold - i);
  }
  CHECK(c.end(outcome::failure) == report_result::counted);
  CHECK(c.it.state() == circuit_state::open);
  CHECK(told(c.it) == std::vector<std::string>{"closed>open consecutive_failures"});
}

TEST_CASE("a success ends the streak, a slow one too [C1]") {
  const auto ending = GENERATE(outcome::success, outcome::slow_success);
  driven_circuit c(streak_profile(3));
  c.end({outcome::failure, outcome::failure, ending, outcome::failure, outcome::failure});
  CHECK(c.it.state() == circuit_state::closed);
  CHECK(c.it.snapshot(c.now).consecutive_failures == 2);
}

TEST_CASE("a neutral or cancelled outcome neither counts nor resets, in streak and window [C3]") {
  const auto nothing = GENERATE(outcome::neutral, outcome::cancelled);
  auto s = streak_profile(3);
  s.window = window_settings{};
  driven_circuit c(s);
  c.end({outcome::failure, outcome::failure});
  CHECK(c.end(nothing) == report_result::ignored);
  const auto shown = c.it.snapshot(c.now);
  CHECK(shown.consecutive_failures == 2);
  CHECK(shown.window_calls == 2u);
  c.end(outcome::failure);
  CHECK(c.it.state() == circuit_state::open);
}

TEST_CASE("idle time leaves a streak untouched [C18]") {
  driven_circuit c(streak_profile(2));
  c.end(outcome::failure);
  c.pass(1000h);
  c.end(outcome::failure);
  CHECK(c.it.state() == circuit_state::open);
}

TEST_CASE("a failure rate trips at the minimum of calls, not before [C1]") {
  window_settings w;
  w.minimum_calls = 10;
  w.failure_rate = 0.3;
  driven_circuit c(window_profile(w));
  c.end({outcome::failure, outcome::failure, outcome::failure});
  for (int i = 0; i < 6; ++i) {
    c.end(outcome::success);
    REQUIRE(c.it.state() == circuit_state::closed);
  }
  c.end(outcome::success); // a success too is evaluated: the tenth call makes it 3 of 10
  CHECK(c.it.state() == circuit_state::open);
  CHECK(told(c.it) == std::vector<std::string>{"closed>open failure_rate"});
}

TEST_CASE("a slow call rate trips although every call succeeds [C1]") {
  window_settings w;
  w.minimum_calls = 4;
  w.slow_call_rate = 0.5;
  driven_circuit c(window_profile(w));
  c.end({outcome::success, outcome::slow_success, outcome::success});
  CHECK(c.it.state() == circuit_state::closed);
  c.end(outcome::slow_success);
  CHECK(c.it.state() == circuit_state::open);
  CHECK(told(c.it) == std::vector<std::string>{"closed>open slow_call_rate"});
}

TEST_CASE("a time window forgets by time, not by traffic [C2][C18]") {
  window_settings w;
  w.type = window_settings::kind::time;
  w.span = 60s;
  w.minimum_calls = 4;
  w.failure_rate = 0.5;
  driven_circuit c(window_profile(w));
  c.end({outcome::failure, outcome::failure, outcome::failure});
  for (int i = 0; i < 1000; ++i) { // 3 failures of 4 would trip; 3 of 3 have not enough calls
    c.end(outcome::neutral);
  }
  c.pass(61s);
  CHECK(c.it.snapshot(c.now).window_calls == 0u);
  CHECK_FALSE(c.it.snapshot(c.now).failure_rate.has_value());
  c.end({outcome::failure, outcome::success, outcome::success});
  CHECK(c.it.state() == circuit_state::closed);
  c.end(outcome::failure);
  CHECK(c.it.state() == circuit_state::open);
}

TEST_CASE("an outcome is evaluated by what the window holds when it is counted, expired successes aside [C1][C2]") {
  window_settings w;
  w.type = window_settings::kind::time;
  w.span = 32s;
  w.minimum_calls = 2;
  w.failure_rate = 0.6;
  driven_circuit c(window_profile(w));
  c.end({outcome::success, outcome::success, outcome::success});
  c.pass(20s);
  c.end({outcome::failure, outcome::failure});
  const auto distance = c.it.distance(c.now);
  CHECK(distance.outcomes > 1);
  CHECK(distance.valid_until == start + 32s);
  c.now = distance.valid_until; // the successes are gone: 2 of 2 failed, yet nothing was counted
  CHECK(c.it.state() == circuit_state::closed);
  CHECK(c.it.distance(c.now).outcomes == 1);
  c.end(outcome::success); // 2 of 3
  CHECK(c.it.state() == circuit_state::open);
}

TEST_CASE("a closed circuit admits everybody and has no timer [C1]") {
  driven_circuit c(streak_profile(5));
  for (int i = 0; i < 100; ++i) {
    const auto verdict = c.it.ask(c.now);
    REQUIRE(verdict.what == admission_verdict::kind::admitted);
    REQUIRE(verdict.generation == c.it.generation());
    REQUIRE(verdict.probe == 0);
  }
  CHECK_FALSE(c.it.next_timer().has_value());
  CHECK_FALSE(c.it.next_probe_at().has_value());
  CHECK_FALSE(c.it.snapshot(c.now).opened_at.has_value());
}

TEST_CASE("a success is idle only while it could end no streak and fill no window [C4]") {
  driven_circuit c(streak_profile(2));
  CHECK(c.it.success_is_idle());
  c.end(outcome::failure);
  CHECK_FALSE(c.it.success_is_idle());
  c.end(outcome::success);
  CHECK(c.it.success_is_idle());
  c.trip();
  CHECK_FALSE(c.it.success_is_idle());

  auto s = streak_profile(2);
  s.window = window_settings{};
  CHECK_FALSE(circuit(s).success_is_idle());
}
