#include "driven_circuit.hpp"

#include "support/catch.hpp"

using namespace switchyard;
using namespace switchyard::test;

// The table in circuit.hpp, cell by cell: what a report does in each state, by kind of permit and generation.

namespace {

enum class permit { ordinary, probe_in_flight, probe_finished, stale_ordinary, stale_probe };

std::string name_of(permit p) {
  constexpr const char* names[] = {"ordinary", "probe in flight", "probe finished", "stale ordinary", "stale probe"};
  return names[static_cast<int>(p)];
}

/// A circuit in `state`, with permits of every kind that state can have met.
struct scene {
  driven_circuit c;
  std::uint32_t stale_generation;
  admission_verdict stale_probe, probe_in_flight, probe_finished;

  explicit scene(circuit_state state) : c(profile()), stale_generation(c.it.generation()) {
    c.end({outcome::failure, outcome::failure, outcome::failure});
    c.cool_down();
    stale_probe = c.probe();
    c.end_probe(c.probe(), outcome::failure);
    // now open, reopened once
    if (state != circuit_state::open)
      c.cool_down();
    if (state == circuit_state::half_open) {
      probe_in_flight = c.probe();
      probe_finished = c.probe();
      c.end_probe(probe_finished, outcome::neutral);
    } else if (state == circuit_state::closed) {
      c.end_probe(c.probe(), outcome::success);
      c.end_probe(c.probe(), outcome::success);
      c.end(outcome::failure);
    }
    if (state != circuit_state::half_open) { // ids that this generation never granted
      probe_in_flight = {admission_verdict::kind::probe, c.it.generation(), 1'000, {}};
      probe_finished = probe_in_flight;
    }
    c.it.take_transitions();
  }

  static circuit_settings profile() {
    auto s = streak_profile(3);
    s.probes = 2;
    s.window = window_settings{};
    return s;
  }

  report_result report(permit p, outcome what) {
    switch (p) {
    case permit::ordinary:
      return c.end(what);
    case permit::probe_in_flight:
      return c.end_probe(probe_in_flight, what);
    case permit::probe_finished:
      return c.end_probe(probe_finished, what);
    case permit::stale_ordinary:
      return c.it.report(c.of(stale_generation, what, 1h), c.now);
    case permit::stale_probe:
      return c.end_probe(stale_probe, what, 1h);
    }
    throw std::logic_error("no such permit");
  }
};

/// Everything that a report can change.
std::string shown(driven_circuit& c) {
  const auto s = c.it.snapshot(c.now);
  const auto wait = s.wait ? std::to_string(s.wait->count()) : "-";
  return std::string(to_string(s.state)) + " generation " + std::to_string(c.it.generation()) + " streak " +
         std::to_string(s.consecutive_failures) + " calls " + std::to_string(s.window_calls.value_or(0)) +
         " failures " + std::to_string(s.failure_rate.value_or(0)) + " slow " +
         std::to_string(s.slow_call_rate.value_or(0)) + " wait " + wait + " probes " +
         std::to_string(s.probes_in_flight);
}

bool is_neutral(outcome o) {
  return o == outcome::neutral || o == outcome::cancelled;
}

} // namespace

TEST_CASE("a report of an earlier generation changes nothing in any state [C9]") {
  const auto state = GENERATE(circuit_state::closed, circuit_state::open, circuit_state::half_open);
  for (const auto p : {permit::stale_ordinary, permit::stale_probe}) {
    for (const auto what : all_outcomes) {
      DYNAMIC_SECTION(state << ": " << name_of(p) << ' ' << what) {
        scene s(state);
        const auto before = shown(s.c);
        CHECK(s.report(p, what) == report_result::ignored);
        CHECK(shown(s.c) == before);
        CHECK(s.c.it.take_transitions().empty());
        CHECK(s.c.it.snapshot(s.c.now).refused_reports == 0);
      }
    }
  }
}

TEST_CASE("an ordinary report of an open or half-open generation changes nothing [C9]") {
  const auto state = GENERATE(circuit_state::open, circuit_state::half_open);
  for (const auto what : all_outcomes) {
    DYNAMIC_SECTION(state << ": " << what) {
      scene s(state);
      const auto before = shown(s.c);
      CHECK(s.report(permit::ordinary, what) == report_result::ignored);
      CHECK(shown(s.c) == before);
    }
  }
}

TEST_CASE("an ordinary report of a closed generation counts unless it is neutral [C1][C3]") {
  for (const auto what : all_outcomes) {
    DYNAMIC_SECTION(what) {
      scene s(circuit_state::closed);
      const auto before = shown(s.c);
      CHECK(s.report(permit::ordinary, what) == (is_neutral(what) ? report_result::ignored : report_result::counted));
      CHECK((shown(s.c) == before) == is_neutral(what));
      const auto streak = s.c.it.snapshot(s.c.now).consecutive_failures;
      if (what == outcome::failure)
        CHECK(streak == 2);
      else
        CHECK(streak == (what == outcome::success || what == outcome::slow_success ? 0 : 1));
    }
  }
}

TEST_CASE("a report of a probe that is not in flight is refused and counted in any state [C9]") {
  const auto state = GENERATE(circuit_state::closed, circuit_state::open, circuit_state::half_open);
  for (const auto what : all_outcomes) {
    DYNAMIC_SECTION(state << ": " << what) {
      scene s(state);
      const auto before = shown(s.c);
      CHECK(s.report(permit::probe_finished, what) == report_result::refused);
      CHECK(shown(s.c) == before);
      CHECK(s.c.it.snapshot(s.c.now).refused_reports == 1);
    }
  }
}

TEST_CASE("a probe's report in half-open does what its outcome says [C8]") {
  for (const auto what : all_outcomes) {
    DYNAMIC_SECTION(what) {
      scene s(circuit_state::half_open);
      const bool counts = !is_neutral(what) && what != outcome::hanging;
      CHECK(s.report(permit::probe_in_flight, what) == (counts ? report_result::counted : report_result::ignored));
      CHECK(s.c.it.state() == (what == outcome::failure ? circuit_state::open : circuit_state::half_open));
      CHECK(s.c.it.snapshot(s.c.now).probes_in_flight == (what == outcome::hanging ? 1 : 0));
    }
  }
}

TEST_CASE("a late failure neither extends, erases nor restarts a cooldown [C9]") {
  auto profile = streak_profile(2);
  driven_circuit c(profile);
  const auto old = c.it.generation();
  c.trip();
  c.pass(29s);
  c.it.report(c.of(old, outcome::failure, 10min), c.now);
  CHECK(c.it.next_probe_at() == start + 30s);
  c.pass(1s);
  CHECK(c.it.state() == circuit_state::half_open);
  c.it.report(c.of(old, outcome::failure, 10min), c.now);
  CHECK(c.it.state() == circuit_state::half_open);
}

TEST_CASE("a late success does not close [C9]") {
  driven_circuit c(streak_profile(1));
  const auto old = c.it.generation();
  c.trip();
  c.it.report(c.of(old, outcome::success), c.now);
  CHECK(c.it.state() == circuit_state::open);
  c.cool_down();
  c.it.report(c.of(old, outcome::success), c.now);
  CHECK(c.it.state() == circuit_state::half_open);
}
