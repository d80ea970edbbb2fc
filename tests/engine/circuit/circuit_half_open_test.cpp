#include "driven_circuit.hpp"

#include "support/catch.hpp"

#include <set>

using namespace switchyard;
using namespace switchyard::test;

namespace {

using kind = admission_verdict::kind;

driven_circuit half_open(std::uint32_t probes, std::uint32_t threshold = 2) {
  auto s = streak_profile(threshold);
  s.probes = probes;
  driven_circuit c(s);
  c.trip();
  c.cool_down();
  c.it.take_transitions();
  return c;
}

} // namespace

TEST_CASE("half-open admits exactly `probes` calls at a time [C7]") {
  const auto probes = GENERATE(1u, 2u, 7u);
  auto c = half_open(probes);
  std::set<std::uint32_t> ids;
  for (int caller = 0; caller < 1000; ++caller) {
    const auto verdict = c.it.ask(c.now);
    REQUIRE(verdict.what == (ids.size() < probes ? kind::probe : kind::refused));
    if (verdict.what == kind::probe)
      ids.insert(verdict.probe);
    else
      REQUIRE_FALSE(verdict.wait.has_value()); // unknown [C6]
  }
  CHECK(ids.size() == probes);
  CHECK(ids.count(0) == 0);
  CHECK(c.it.snapshot(c.now).probes_in_flight == probes);
  CHECK_FALSE(c.it.probe_available());
}

TEST_CASE("half-open closes after `probes` successes, slow ones included [C8]") {
  const auto good = GENERATE(outcome::success, outcome::slow_success);
  auto c = half_open(2);
  c.end_probe(c.probe(), good);
  CHECK(c.it.state() == circuit_state::half_open);
  c.end_probe(c.probe(), good);
  CHECK(c.it.state() == circuit_state::closed);
  CHECK(told(c.it) == std::vector<std::string>{"half_open>closed probes_succeeded"});
}

TEST_CASE("the first failing probe reopens, with the cooldown from that moment [C8]") {
  auto c = half_open(3);
  c.end_probe(c.probe(), outcome::success);
  const auto failing = c.probe();
  c.pass(5s);
  c.end_probe(failing, outcome::failure);
  CHECK(c.it.state() == circuit_state::open);
  CHECK(c.it.next_probe_at() == c.now + 30s);
  CHECK(c.it.snapshot(c.now).trips == 2);
  c.cool_down();
  c.end_probe(c.probe(), outcome::success); // successes of the half-open before are forgotten
  c.end_probe(c.probe(), outcome::success);
  CHECK(c.it.state() == circuit_state::half_open);
}

TEST_CASE("a neutral or cancelled probe gives its slot back and the next caller probes [C8][C16]") {
  const auto nothing = GENERATE(outcome::neutral, outcome::cancelled);
  auto c = half_open(1);
  for (int i = 0; i < 100; ++i) {
    const auto verdict = c.probe();
    REQUIRE(c.it.ask(c.now).what == kind::refused);
    c.end_probe(verdict, nothing);
    REQUIRE(c.it.state() == circuit_state::half_open);
  }
  CHECK(c.it.probe_available());
}

TEST_CASE("a probe that outlives its lease counts as failed, at the lease's end [C8]") {
  auto c = half_open(2);
  c.probe();
  c.pass(10s);
  c.probe();
  REQUIRE(c.it.next_timer() == start + 30s + 60s); // the first one's
  c.pass(50s - 1ns);
  CHECK(c.it.state() == circuit_state::half_open);
  c.pass(1ns);
  CHECK(c.it.state() == circuit_state::open);
  CHECK(told(c.it) == std::vector<std::string>{"half_open>open probe_lease"});
  CHECK(c.it.next_probe_at() == start + 90s + 30s);
}

TEST_CASE("a lease and the cooldown after it may end in one advance [C6][C8]") {
  auto c = half_open(1);
  c.probe();
  c.pass(24h);
  CHECK(told(c.it) == std::vector<std::string>{"half_open>open probe_lease", "open>half_open cooldown"});
  CHECK(c.it.probe_available());
  CHECK_FALSE(c.it.next_timer().has_value());
}

TEST_CASE("a second report of one probe is refused and counted, and mints no slot [C9]") {
  const auto first = GENERATE(outcome::success, outcome::neutral, outcome::cancelled);
  const auto second = GENERATE(outcome::success, outcome::failure, outcome::neutral, outcome::cancelled);
  auto c = half_open(3);
  const auto verdict = c.probe();
  c.probe();
  c.end_probe(verdict, first);
  CHECK(c.end_probe(verdict, second) == report_result::refused);
  const auto shown = c.it.snapshot(c.now);
  CHECK(shown.state == circuit_state::half_open);
  CHECK(shown.refused_reports == 1);
  CHECK(shown.probes_in_flight == 1);
}

TEST_CASE("closing clears streak and window; one failure after recovery does not reopen [C10]") {
  auto s = streak_profile(2);
  s.window = window_settings{};
  s.window->minimum_calls = 2;
  s.window->failure_rate = 0.6;
  driven_circuit c(s);
  c.trip();
  c.cool_down();
  c.end_probe(c.probe(), outcome::success);
  const auto shown = c.it.snapshot(c.now);
  CHECK(shown.consecutive_failures == 0);
  CHECK(shown.window_calls == 0u);
  c.end(outcome::failure);
  CHECK(c.it.state() == circuit_state::closed);
  c.end(outcome::failure);
  CHECK(c.it.state() == circuit_state::open);
}

TEST_CASE("a success of a probe found hanging still counts, its lease rules [C8][C17]") {
  auto c = half_open(1);
  const auto verdict = c.probe();
  CHECK(c.end_probe(verdict, outcome::hanging) == report_result::ignored);
  CHECK(c.it.snapshot(c.now).probes_in_flight == 1);
  CHECK(c.end_probe(verdict, outcome::success) == report_result::counted);
  CHECK(c.it.state() == circuit_state::closed);
}

TEST_CASE("a probe whose stream flows outlives its lease, and its end decides [C8]") {
  for (const auto end : {outcome::success, outcome::failure, outcome::cancelled}) {
    DYNAMIC_SECTION(end) {
      auto c = half_open(1);
      const auto verdict = c.it.ask(c.now);
      CHECK(c.end_probe(verdict, outcome::flowing) == report_result::counted);
      c.pass(24h);
      CHECK(c.it.state() == circuit_state::half_open);
      CHECK_FALSE(c.it.probe_available());
      c.end_probe(verdict, end);
      CHECK(c.it.state() == (end == outcome::success   ? circuit_state::closed
                             : end == outcome::failure ? circuit_state::open
                                                       : circuit_state::half_open));
      CHECK(c.it.snapshot(c.now).probes_in_flight == 0);
    }
  }
}
