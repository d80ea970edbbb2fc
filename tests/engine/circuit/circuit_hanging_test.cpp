#include "driven_circuit.hpp"

#include "support/catch.hpp"

using namespace switchyard;
using namespace switchyard::test;

namespace {

circuit_settings slow_profile(std::uint32_t minimum = 10) {
  window_settings w;
  w.minimum_calls = minimum;
  w.slow_call_rate = 0.5;
  return window_profile(w);
}

circuit_settings quiet_window(std::uint32_t threshold, window_settings::kind type = window_settings::kind::count,
                              std::uint32_t size = 100) {
  auto s = streak_profile(threshold);
  s.window = window_settings{};
  s.window->type = type;
  s.window->size = size;
  s.window->span = 32s;
  return s;
}

std::uint32_t slow_calls(const driven_circuit& c) {
  const auto s = c.it.snapshot(c.now);
  return static_cast<std::uint32_t>(s.slow_call_rate.value_or(0) * s.window_calls.value_or(0) + 0.5);
}

std::uint32_t failed_calls(const driven_circuit& c) {
  const auto s = c.it.snapshot(c.now);
  return static_cast<std::uint32_t>(s.failure_rate.value_or(0) * s.window_calls.value_or(0) + 0.5);
}

} // namespace

TEST_CASE("a thousand hanging calls open the circuit before the first of them ends [C17]") {
  driven_circuit c(slow_profile());
  for (int i = 0; i < 1000 && c.it.state() == circuit_state::closed; ++i)
    c.hang();
  CHECK(c.it.state() == circuit_state::open);
  CHECK(told(c.it) == std::vector<std::string>{"closed>open slow_call_rate"});
}

TEST_CASE("a hanging call leaves the streak alone [C17]") {
  driven_circuit c(quiet_window(3));
  c.end(outcome::failure);
  c.hang();
  CHECK(c.it.snapshot(c.now).consecutive_failures == 1);
}

TEST_CASE("a hanging call that fails makes its own entry a failure and counts in the streak [C17]") {
  const auto type = GENERATE(window_settings::kind::count, window_settings::kind::time);
  driven_circuit c(quiet_window(3, type));
  const auto first = c.hang();
  c.hang();
  CHECK(slow_calls(c) == 2);
  c.pass(5s);
  CHECK(c.end_hanging(first, outcome::failure) == report_result::counted);
  CHECK(c.it.snapshot(c.now).window_calls == 2u);
  CHECK(slow_calls(c) == 1);
  CHECK(failed_calls(c) == 1);
  CHECK(c.it.snapshot(c.now).consecutive_failures == 1);
}

TEST_CASE("a hanging call that succeeds stays slow, once, and ends the streak [C17]") {
  const auto good = GENERATE(outcome::success, outcome::slow_success);
  driven_circuit c(quiet_window(3));
  const auto hanging = c.hang();
  c.end(outcome::failure);
  CHECK(c.end_hanging(hanging, good) == report_result::counted);
  CHECK(c.it.snapshot(c.now).window_calls == 2u);
  CHECK(slow_calls(c) == 1);
  CHECK(c.it.snapshot(c.now).consecutive_failures == 0);
}

TEST_CASE("a hanging call that ends neutral stays slow and does nothing more [C17]") {
  const auto nothing = GENERATE(outcome::neutral, outcome::cancelled);
  driven_circuit c(quiet_window(3));
  c.end(outcome::failure);
  const auto hanging = c.hang();
  CHECK(c.end_hanging(hanging, nothing) == report_result::ignored);
  CHECK(slow_calls(c) == 1);
  CHECK(c.it.snapshot(c.now).consecutive_failures == 1);
}

TEST_CASE("a failure may trip by the entry that it amends [C17]") {
  window_settings w;
  w.minimum_calls = 2;
  w.failure_rate = 0.5;
  driven_circuit c(window_profile(w));
  const auto hanging = c.hang();
  c.end(outcome::success);
  CHECK(c.it.distance(c.now).outcomes == 1);
  c.end_hanging(hanging, outcome::failure);
  CHECK(c.it.state() == circuit_state::open);
}

TEST_CASE("an entry that has left a count window is not amended, the streak counts [C17]") {
  driven_circuit c(quiet_window(3, window_settings::kind::count, 10));
  const auto hanging = c.hang();
  for (int i = 0; i < 10; ++i)
    c.end(outcome::success);
  c.end_hanging(hanging, outcome::failure);
  CHECK(failed_calls(c) == 0);
  CHECK(c.it.snapshot(c.now).window_calls == 10u);
  CHECK(c.it.snapshot(c.now).consecutive_failures == 1);
}

TEST_CASE("an entry that has left a time window is not amended, the streak counts [C17]") {
  driven_circuit c(quiet_window(3, window_settings::kind::time));
  const auto hanging = c.hang();
  c.pass(32s);
  c.end_hanging(hanging, outcome::failure);
  CHECK(c.it.snapshot(c.now).window_calls == 0u);
  CHECK(c.it.snapshot(c.now).consecutive_failures == 1);
}

TEST_CASE("an amendment from before a transition or a reset changes nothing [C9][C17]") {
  driven_circuit c(quiet_window(1));
  const auto generation = c.it.generation();
  const auto hanging = c.hang();
  if (GENERATE(true, false)) {
    c.trip();
    c.cool_down();
    c.end_probe(c.probe(), outcome::success);
  } else {
    c.it.reset(c.now);
  }
  auto r = c.of(generation, outcome::failure);
  r.amends = hanging;
  CHECK(c.it.report(r, c.now) == report_result::ignored);
  CHECK(c.it.state() == circuit_state::closed);
  CHECK(c.it.snapshot(c.now).window_calls == 0u);
}

TEST_CASE("without a window a hanging call is nothing until it ends [C17]") {
  driven_circuit c(streak_profile(2));
  const auto hanging = c.hang();
  CHECK(c.it.success_is_idle());
  c.end_hanging(hanging, outcome::failure);
  CHECK(c.it.snapshot(c.now).consecutive_failures == 1);
}

TEST_CASE("a failure of a hanging call beyond the bound is a new entry, a success none [C17]") {
  driven_circuit c(quiet_window(1'000'000, window_settings::kind::time));
  std::uint32_t last = 0;
  for (std::size_t i = 0; i <= circuit::max_hanging; ++i)
    last = c.hang();
  const auto calls = c.it.snapshot(c.now).window_calls.value();
  c.end_hanging(last, outcome::failure);
  CHECK(c.it.snapshot(c.now).window_calls == calls + 1);
  c.end_hanging(last, outcome::success);
  CHECK(c.it.snapshot(c.now).window_calls == calls + 1);
  CHECK(c.it.snapshot(c.now).consecutive_failures == 0);

  SECTION("and an ended one makes room again") {
    c.end_hanging(1, outcome::neutral);
    const auto hanging = c.hang();
    c.end_hanging(hanging, outcome::failure);
    CHECK(c.it.snapshot(c.now).window_calls == calls + 2);
  }
}
