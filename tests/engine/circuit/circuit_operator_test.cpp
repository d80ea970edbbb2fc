#include "driven_circuit.hpp"

#include "support/catch.hpp"

using namespace switchyard;
using namespace switchyard::test;

namespace {

using kind = admission_verdict::kind;

/// Brings the circuit from closed into `state`.
void bring_to(driven_circuit& c, circuit_state state) {
  if (state != circuit_state::closed)
    c.trip();
  if (state == circuit_state::half_open)
    c.cool_down();
}

} // namespace

TEST_CASE("forced_open refuses in every state, with an unknown wait [C6]") {
  const auto state = GENERATE(circuit_state::closed, circuit_state::open, circuit_state::half_open);
  driven_circuit c(streak_profile(2));
  bring_to(c, state);
  c.it.set_mode(circuit_mode::forced_open);
  const auto verdict = c.it.ask(c.now);
  CHECK(verdict.what == kind::refused);
  CHECK_FALSE(verdict.wait.has_value());
  CHECK(c.it.state() == state);
  CHECK(c.it.snapshot(c.now).mode == circuit_mode::forced_open);
}

TEST_CASE("disabled admits in every state, with the current generation and no probe [C7]") {
  const auto state = GENERATE(circuit_state::closed, circuit_state::open, circuit_state::half_open);
  driven_circuit c(streak_profile(2));
  bring_to(c, state);
  c.it.set_mode(circuit_mode::disabled);
  for (int i = 0; i < 10; ++i) {
    const auto verdict = c.it.ask(c.now);
    REQUIRE(verdict.what == kind::admitted);
    REQUIRE(verdict.generation == c.it.generation());
  }
  CHECK(c.it.state() == state);
  CHECK(c.it.snapshot(c.now).probes_in_flight == 0);
}

TEST_CASE("disabled and forced_open go on observing [C1][C6]") {
  const auto mode = GENERATE(circuit_mode::disabled, circuit_mode::forced_open);
  driven_circuit c(streak_profile(2));
  c.it.set_mode(mode);
  c.trip();
  CHECK(c.it.state() == circuit_state::open);
  c.pass(30s);
  CHECK(c.it.state() == circuit_state::half_open);
  CHECK(c.it.mode() == mode);
}

TEST_CASE("a probe in flight counts whatever the mode has become [C8]") {
  driven_circuit c(streak_profile(1));
  bring_to(c, circuit_state::half_open);
  const auto probe = c.probe();
  c.it.set_mode(circuit_mode::forced_open);
  c.end_probe(probe, outcome::success);
  CHECK(c.it.state() == circuit_state::closed);
  CHECK(c.it.ask(c.now).what == kind::refused);
  c.it.set_mode(circuit_mode::automatic);
  CHECK(c.it.ask(c.now).what == kind::admitted);
}

TEST_CASE("a reset closes in a new generation and keeps the mode [C9]") {
  const auto state = GENERATE(circuit_state::closed, circuit_state::open, circuit_state::half_open);
  driven_circuit c(streak_profile(2));
  bring_to(c, state);
  if (state == circuit_state::closed)
    c.end(outcome::failure);
  c.it.take_transitions();
  c.it.set_mode(circuit_mode::disabled);
  const auto before = c.it.generation();
  c.it.reset(c.now);
  CHECK(c.it.state() == circuit_state::closed);
  CHECK(c.it.generation() == before + 1);
  CHECK(c.it.mode() == circuit_mode::disabled);
  CHECK(c.it.snapshot(c.now).consecutive_failures == 0);
  CHECK_FALSE(c.it.next_timer().has_value());
  if (state == circuit_state::closed)
    CHECK(c.it.take_transitions().empty());
  else
    CHECK(told(c.it) == std::vector<std::string>{std::string(to_string(state)) + ">closed reset"});
}

TEST_CASE("a reset makes probes and calls of before stale [C9]") {
  driven_circuit c(streak_profile(1));
  const auto ordinary = c.it.generation();
  bring_to(c, circuit_state::half_open);
  const auto probe = c.probe();
  c.it.reset(c.now);
  CHECK(c.end_probe(probe, outcome::failure) == report_result::ignored);
  CHECK(c.it.report(c.of(ordinary, outcome::failure), c.now) == report_result::ignored);
  CHECK(c.it.state() == circuit_state::closed);
}
