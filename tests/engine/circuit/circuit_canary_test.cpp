#include "driven_circuit.hpp"

#include "support/catch.hpp"

using namespace switchyard;
using namespace switchyard::test;

namespace {

driven_circuit with_canary_due() {
  auto s = streak_profile(1);
  s.canary = canary_settings{};
  s.cooldown_multiplier = 2;
  driven_circuit c(s);
  c.trip();
  c.pass(30s);
  c.it.take_transitions();
  return c;
}

} // namespace

TEST_CASE("with a canary the cooldown's end opens nothing and the wait becomes unknown [C6][C13]") {
  auto c = with_canary_due();
  CHECK(c.it.canary_due());
  CHECK(c.it.state() == circuit_state::open);
  CHECK_FALSE(c.it.next_timer().has_value());
  for (int caller = 0; caller < 100; ++caller) {
    const auto verdict = c.it.ask(c.now);
    REQUIRE(verdict.what == admission_verdict::kind::refused);
    REQUIRE_FALSE(verdict.wait.has_value());
  }
  CHECK_FALSE(c.it.snapshot(c.now).wait.has_value());
  CHECK(c.it.take_transitions().empty());
}

TEST_CASE("a canary that passes opens half_open for real probes [C13]") {
  auto c = with_canary_due();
  c.pass(1s);
  c.it.canary_result(c.it.generation(), true, c.now);
  CHECK_FALSE(c.it.canary_due());
  CHECK(told(c.it) == std::vector<std::string>{"open>half_open canary_passed"});
  c.end_probe(c.probe(), outcome::success);
  CHECK(c.it.state() == circuit_state::closed);
}

TEST_CASE("a canary that fails starts the cooldown again as after a failed probe [C13]") {
  auto c = with_canary_due();
  c.pass(1s);
  c.it.canary_result(c.it.generation(), false, c.now);
  CHECK_FALSE(c.it.canary_due());
  CHECK(c.it.state() == circuit_state::open);
  CHECK(c.it.next_probe_at() == c.now + 60s);
  c.pass(60s);
  CHECK(c.it.canary_due());
}

TEST_CASE("a canary's result that nobody awaits is ignored [C9][C13]") {
  auto c = with_canary_due();
  const auto generation = c.it.generation();
  SECTION("after a reset") {
    c.it.reset(c.now);
    c.it.canary_result(generation, true, c.now);
    CHECK(c.it.state() == circuit_state::closed);
  }
  SECTION("of an earlier opening") {
    c.it.reset(c.now);
    c.trip();
    c.pass(30s);
    c.it.canary_result(generation, true, c.now);
    CHECK(c.it.canary_due());
  }
  SECTION("a second one") {
    c.it.canary_result(generation, false, c.now);
    c.it.canary_result(generation, true, c.now);
    CHECK(c.it.state() == circuit_state::open);
  }
}
