#include "driven_circuit.hpp"

#include "support/catch.hpp"

using namespace switchyard;
using namespace switchyard::test;

namespace {

driven_circuit opened(const circuit_settings& s) {
  driven_circuit c(s);
  c.trip();
  c.it.take_transitions();
  return c;
}

} // namespace

TEST_CASE("an open circuit refuses with the remaining wait [C6][C11]") {
  auto c = opened(streak_profile(2));
  CHECK(c.it.ask(c.now).wait == 30s);
  c.pass(29s);
  const auto verdict = c.it.ask(c.now);
  CHECK(verdict.what == admission_verdict::kind::refused);
  CHECK(verdict.wait == 1s);
  const auto shown = c.it.snapshot(c.now);
  CHECK(shown.state == circuit_state::open);
  CHECK(shown.opened_at == start);
  CHECK(shown.wait == 1s);
  CHECK(shown.trips == 1);
  CHECK(shown.consecutive_failures == 2);
}

TEST_CASE("at exactly the cooldown's end the state is half_open, without traffic [C6]") {
  auto c = opened(streak_profile(1));
  REQUIRE(c.it.next_timer() == start + 30s);
  c.pass(30s - 1ns);
  CHECK(c.it.state() == circuit_state::open);
  c.pass(1ns);
  CHECK(c.it.state() == circuit_state::half_open);
  CHECK(told(c.it) == std::vector<std::string>{"open>half_open cooldown"});
}

TEST_CASE("a late timer still tells the time at which the cooldown ended [C6]") {
  auto c = opened(streak_profile(1));
  c.pass(45s);
  const auto transitions = c.it.take_transitions();
  REQUIRE(transitions.size() == 1);
  CHECK(transitions[0].at == start + 30s);
}

TEST_CASE("the cooldown runs from when the opening outcome was recorded [C5]") {
  driven_circuit c(streak_profile(1));
  auto r = c.of(c.it.generation(), outcome::failure);
  c.now += 2s; // the report took its time
  c.it.report(r, c.now);
  CHECK(c.it.snapshot(c.now).opened_at == start);
  CHECK(c.it.next_probe_at() == start + 30s);
}

TEST_CASE("an outcome from before the state began does not open in the past [C5]") {
  auto c = opened(streak_profile(1));
  c.pass(30s);
  c.end_probe(c.probe(), outcome::success);
  REQUIRE(c.it.state() == circuit_state::closed);
  auto r = c.of(c.it.generation(), outcome::failure);
  r.at = start; // a clock read long before
  c.it.report(r, c.now);
  CHECK(c.it.next_probe_at() == start + 60s);
}

TEST_CASE("transitions nobody takes are bounded [C15]") {
  auto s = streak_profile(1);
  driven_circuit c(s);
  for (std::size_t i = 0; i < circuit::max_transitions; ++i) {
    c.trip();
    c.it.reset(c.now);
  }
  const auto kept = c.it.take_transitions();
  CHECK(kept.size() == circuit::max_transitions);
  CHECK(kept.back().reason == "reset");
  CHECK(c.it.take_transitions().empty());
}

TEST_CASE("a successor continues its predecessor's generations [C14]") {
  circuit first(streak_profile(1));
  circuit second(streak_profile(1), 0, first.generation() + 1);
  outcome_report r;
  r.generation = first.generation();
  r.what = outcome::failure;
  r.at = start;
  CHECK(second.report(r, start) == report_result::ignored);
  CHECK(second.state() == circuit_state::closed);
}
