#include "support/actor_fixture.hpp"

#include "switchyard/actors/breaker.hpp"

using namespace switchyard;
using namespace switchyard::test;
using texts = std::vector<std::string>;

namespace {

class breaker_fixture : public actor_fixture {
public:
  std::shared_ptr<circuit_handle> circuit(const circuit_settings& s = {}, circuit_mode mode = circuit_mode::automatic) {
    auto handle = own(std::make_shared<circuit_handle>(circuit_id{"p", {}, {}}, s));
    spawn_breaker(system, handle, shared, mode);
    run();
    return handle;
  }

  outcome_report of(const circuit_handle& c, outcome what) const {
    outcome_report r;
    r.generation = c.cell().generation();
    r.what = what;
    r.at = now();
    return r;
  }

  void end(const circuit_handle& c, outcome what, int times = 1) {
    for (int i = 0; i < times; ++i)
      hand_in(c, of(c, what));
    run();
  }

  void end_probe(const circuit_handle& c, const admission_verdict& probe, outcome what) {
    auto r = of(c, what);
    r.generation = probe.generation;
    r.probe = probe.probe;
    hand_in(c, r);
    run();
  }

  admission_verdict ask_probe(const circuit_handle& c) { return ask<admission_verdict>(c.breaker(), probe_request{}); }
  circuit_snapshot figures(const circuit_handle& c) {
    return ask<circuit_description>(c.breaker(), describe_circuit{}).figures;
  }

  // From closed to half-open.
  void open_half(const circuit_handle& c) {
    end(c, outcome::failure, static_cast<int>(c.settings().consecutive_failures));
    pass(c.settings().cooldown);
  }
};

circuit_settings window_profile() {
  circuit_settings s;
  s.consecutive_failures = 1'000;
  window_settings w;
  w.size = 100;
  w.minimum_calls = 100;
  w.failure_rate = 0.5;
  s.window = w;
  return s;
}

using kind = admission_verdict::kind;

} // namespace

TEST_CASE_METHOD(breaker_fixture, "a breaker opens at the threshold and shows it with its message [C1, C4]") {
  const auto c = circuit();
  end(*c, outcome::failure, 4);
  CHECK(c->cell().state() == circuit_state::closed);
  end(*c, outcome::failure);
  CHECK(c->cell().state() == circuit_state::open);
  const auto refused = c->cell().try_admit(now());
  CHECK(refused.what == fast_admission::kind::refused);
  CHECK(refused.wait == 30s);
}

TEST_CASE_METHOD(breaker_fixture, "a circuit that opened and closed again left no line in the log") {
  const auto c = circuit();
  open_half(*c);
  end_probe(*c, ask_probe(*c), outcome::success);
  using line = std::pair<log_level, std::string>;
  CHECK(log == std::vector<line>{
                   {log_level::warning, "circuit p: from closed to open (consecutive_failures), next probe in 30s"},
                   {log_level::info, "circuit p: from open to half_open (cooldown)"},
                   {log_level::info, "circuit p: from half_open to closed (probes_succeeded)"}});
}

TEST_CASE_METHOD(breaker_fixture, "half-open comes by the breaker's own timer at exactly the cooldown's end [C6]") {
  const auto c = circuit();
  end(*c, outcome::failure, 5);
  pass(duration{30s} - 1ns);
  CHECK(c->cell().state() == circuit_state::open);
  pass(1ns);
  CHECK(c->cell().state() == circuit_state::half_open);
}

TEST_CASE_METHOD(breaker_fixture, "of a thousand who ask at once exactly one probes [C7]") {
  const auto c = circuit();
  open_half(*c);
  std::vector<decltype(self->request(c->breaker(), caf::infinite, probe_request{}))> requests;
  for (int i = 0; i < 1'000; ++i)
    requests.push_back(self->request(c->breaker(), caf::infinite, probe_request{}));
  run();
  int probes = 0, refused = 0;
  for (auto& request : requests) {
    const auto verdict = receive<admission_verdict>(request);
    probes += verdict.what == kind::probe;
    refused += verdict.what == kind::refused && !verdict.wait;
  }
  CHECK(probes == 1);
  CHECK(refused == 999);
  CHECK(c->cell().try_admit(now()).what == fast_admission::kind::refused);
}

TEST_CASE_METHOD(breaker_fixture, "who has given up asking is granted no probe: it would belong to nobody [C8]") {
  const auto c = circuit();
  open_half(*c);
  CHECK(ask<admission_verdict>(c->breaker(), probe_request{now()}).what == kind::refused);
  CHECK(figures(*c).probes_in_flight == 0);
  CHECK(ask<admission_verdict>(c->breaker(), probe_request{now() + 1ns}).what == kind::probe);
}

TEST_CASE_METHOD(breaker_fixture, "a probe whose holder dies goes to the next caller at once [C8, C16]") {
  const auto c = circuit();
  open_half(*c);
  {
    caf::scoped_actor holder{system};
    auto granted = holder->request(c->breaker(), 10s, probe_request{.held_by_asker = true});
    run();
    REQUIRE(receive<admission_verdict>(granted).what == admission_verdict::kind::probe);
    REQUIRE(ask_probe(*c).what == admission_verdict::kind::refused);
  }
  run();
  CHECK(figures(*c).probes_in_flight == 0);
  CHECK(figures(*c).refused_reports == 0);
  CHECK(ask_probe(*c).what == admission_verdict::kind::probe);
}

TEST_CASE_METHOD(breaker_fixture, "a probe granted to one who is dead already goes to the next caller [C8, C16]") {
  const auto c = circuit();
  open_half(*c);
  {
    caf::scoped_actor gone{system};
    caf::anon_send(c->breaker(), drain_reports{});
    gone->request(c->breaker(), 10s, probe_request{.held_by_asker = true});
  }
  run();
  CHECK(ask_probe(*c).what == admission_verdict::kind::probe);
}

TEST_CASE_METHOD(breaker_fixture, "a holder that dies after its probe's outcome takes nothing with it [C8]") {
  const auto c = circuit();
  open_half(*c);
  {
    caf::scoped_actor holder{system};
    auto granted = holder->request(c->breaker(), 10s, probe_request{.held_by_asker = true});
    run();
    auto r = of(*c, outcome::success);
    r.probe = receive<admission_verdict>(granted).probe;
    hand_in(*c, r);
  }
  run();
  CHECK(c->cell().state() == circuit_state::closed);
  CHECK(figures(*c).refused_reports == 0);
}

TEST_CASE_METHOD(breaker_fixture, "an asker that lets somebody else hold its probe may go [C8]") {
  const auto c = circuit();
  open_half(*c);
  {
    caf::scoped_actor asker{system};
    auto granted = asker->request(c->breaker(), 10s, probe_request{});
    run();
    REQUIRE(receive<admission_verdict>(granted).what == admission_verdict::kind::probe);
  }
  run();
  CHECK(figures(*c).probes_in_flight == 1);
}

TEST_CASE_METHOD(breaker_fixture, "transitions are told once each and in order") {
  const auto c = circuit();
  open_half(*c);
  end_probe(*c, ask_probe(*c), outcome::failure);
  pass(30s);
  end_probe(*c, ask_probe(*c), outcome::success);
  figures(*c);
  CHECK(events.lines("state") == texts{"state p closed>open consecutive_failures", "state p open>half_open cooldown",
                                       "state p half_open>open probe_failed", "state p open>half_open cooldown",
                                       "state p half_open>closed probes_succeeded"});
}

TEST_CASE_METHOD(breaker_fixture, "a probe that outlives its lease counts as failed [C8]") {
  const auto c = circuit();
  open_half(*c);
  const auto probe = ask_probe(*c);
  REQUIRE(probe.what == kind::probe);
  pass(duration{60s} - 1ns);
  CHECK(c->cell().state() == circuit_state::half_open);
  pass(1ns);
  CHECK(c->cell().state() == circuit_state::open);
  CHECK(events.lines("state").back() == "state p half_open>open probe_lease");
  pass(30s);
  end_probe(*c, probe, outcome::success); // late
  CHECK(c->cell().state() == circuit_state::half_open);
}

TEST_CASE_METHOD(breaker_fixture, "a second report of a probe is refused and counted [C9]") {
  circuit_settings s;
  s.probes = 2;
  const auto c = circuit(s);
  open_half(*c);
  const auto probe = ask_probe(*c);
  end_probe(*c, probe, outcome::success);
  end_probe(*c, probe, outcome::success);
  CHECK(c->cell().state() == circuit_state::half_open);
  CHECK(figures(*c).refused_reports == 1);
}

TEST_CASE_METHOD(breaker_fixture, "reports that do not fit into the queue count exactly, in messages [C4]") {
  for (const std::uint32_t threshold : {100u, 101u}) {
    circuit_settings s;
    s.consecutive_failures = threshold;
    const auto c = circuit(s);
    int in_messages = 0;
    for (int i = 0; i < 100; ++i)
      in_messages += !hand_in(*c, of(*c, outcome::failure)).queued;
    CHECK(in_messages == 36);
    CHECK(c->cell().try_admit(now()).what == fast_admission::kind::ask); // not yet known
    run();
    CHECK((c->cell().state() == circuit_state::open) == (threshold == 100));
    if (threshold == 100)
      continue;
    CHECK(c->cell().try_admit(now()).what == fast_admission::kind::admitted);
    CHECK(hand_in(*c, of(*c, outcome::failure)).queued); // the queue is in use again
    run();
    CHECK(c->cell().state() == circuit_state::open);
  }
}

TEST_CASE_METHOD(breaker_fixture, "who asks while reports wait is answered with all of them counted [C4]") {
  const auto c = circuit();
  for (int i = 0; i < 5; ++i)
    c->cell().report(of(*c, outcome::failure)); // their wake-ups are lost
  CHECK(ask_probe(*c).what == kind::refused);
  CHECK(c->cell().state() == circuit_state::open);
}

TEST_CASE_METHOD(breaker_fixture, "forced_open refuses, disabled admits, both still observe") {
  const auto c = circuit();
  CHECK(ask<done>(c->breaker(), set_circuit_mode{circuit_mode::forced_open}).ok);
  CHECK(c->cell().try_admit(now()).what == fast_admission::kind::refused);
  CHECK(ask_probe(*c).what == kind::refused);
  ask<done>(c->breaker(), set_circuit_mode{circuit_mode::disabled});
  end(*c, outcome::failure, 5);
  CHECK(c->cell().state() == circuit_state::open);
  CHECK(c->cell().try_admit(now()).what == fast_admission::kind::admitted);
  CHECK(ask_probe(*c).what == kind::admitted);
  CHECK(figures(*c).mode == circuit_mode::disabled);
  CHECK(events.lines("mode") == texts{"mode p forced_open", "mode p disabled"});
}

TEST_CASE_METHOD(breaker_fixture, "reset closes, in a new generation, and permits from before are stale [C9]") {
  const auto c = circuit();
  const auto before = c->cell().try_admit(now());
  end(*c, outcome::failure, 5);
  ask<done>(c->breaker(), reset_circuit{});
  CHECK(c->cell().state() == circuit_state::closed);
  CHECK(c->cell().generation() > before.generation);
  auto late = of(*c, outcome::failure);
  late.generation = before.generation;
  for (int i = 0; i < 5; ++i)
    hand_in(*c, late);
  run();
  CHECK(c->cell().state() == circuit_state::closed);
  CHECK(figures(*c).trips == 1);
  pass(30s); // the timer of the cooldown that was reset
  CHECK(c->cell().state() == circuit_state::closed);
}

TEST_CASE_METHOD(breaker_fixture, "reset of a closed circuit clears its streak") {
  const auto c = circuit();
  end(*c, outcome::failure, 4);
  ask<done>(c->breaker(), reset_circuit{});
  end(*c, outcome::failure, 4);
  CHECK(c->cell().state() == circuit_state::closed);
}

TEST_CASE_METHOD(breaker_fixture, "successes of a window wait for the lazy timer, and are all counted by it") {
  const auto c = circuit(window_profile());
  end(*c, outcome::success);
  CHECK(events.lines("rates").size() == 1);
  for (int i = 0; i < 20; ++i)
    CHECK_FALSE(hand_in(*c, of(*c, outcome::success)).wake);
  run();
  CHECK(events.lines("rates").size() == 1);
  pass(200ms);
  CHECK(events.lines("rates").size() == 2);
  CHECK(figures(*c).window_calls == 21u);
  CHECK(events.lines("rates").size() == 2); // nothing new
}

TEST_CASE_METHOD(breaker_fixture, "rates of a time window stood still when nobody called, and outlived it [M, C18]") {
  auto s = window_profile();
  s.window->type = window_settings::kind::time;
  s.window->span = 32s;
  const auto c = circuit(s);
  end(*c, outcome::failure);
  pass(16s);
  end(*c, outcome::failure);
  CHECK(events.lines("rates").size() == 2);
  pass(17s); // the first one has left
  CHECK(figures(*c).window_calls == 1u);
  CHECK(events.lines("rates p known").size() == 3);
  pass(17s);
  CHECK(events.lines("rates") == texts{"rates p known", "rates p known", "rates p known", "rates p unknown"});
  pass(1s);
  CHECK_FALSE(timer_pending()); // nothing is left to change
}

TEST_CASE_METHOD(breaker_fixture, "a reset clears the window, and its rates are told at once [M, C10]") {
  const auto c = circuit(window_profile());
  end(*c, outcome::failure);
  ask<done>(c->breaker(), reset_circuit{});
  CHECK(events.lines("rates").back() == "rates p unknown");
}

TEST_CASE_METHOD(breaker_fixture,
                 "a window that a reload took away left its rates behind, and a timer that never rested [M]") {
  auto s = window_profile();
  s.window->type = window_settings::kind::time;
  s.window->span = 32s;
  const auto c = circuit(s);
  end(*c, outcome::failure);
  REQUIRE(events.lines("rates").back() == "rates p known");
  s.window.reset();
  REQUIRE(c->configure(s));
  ask<done>(c->breaker(), configure_circuit{});
  CHECK(events.lines("rates").back() == "rates p unknown");
  for (int i = 0; i < 4; ++i)
    pass(32s);
  CHECK_FALSE(timer_pending());
}

TEST_CASE_METHOD(breaker_fixture, "the lazy timer ends when it is quiet, and the next report wakes the breaker") {
  const auto c = circuit(window_profile());
  end(*c, outcome::success);
  for (int i = 0; i < 4; ++i)
    pass(200ms);
  CHECK_FALSE(timer_pending());
  CHECK(hand_in(*c, of(*c, outcome::success)).wake);
}

TEST_CASE_METHOD(breaker_fixture, "a failure wakes the breaker at once, lazy or not [C4]") {
  auto s = window_profile();
  s.window->minimum_calls = 2;
  const auto c = circuit(s);
  end(*c, outcome::success);
  end(*c, outcome::failure);
  CHECK(c->cell().state() == circuit_state::open);
}

TEST_CASE_METHOD(breaker_fixture, "a successor starts closed, after the generation of the dead one [C14]") {
  const auto c = circuit();
  end(*c, outcome::failure, 5);
  const auto before = c->cell().generation();
  kill(c->breaker());
  spawn_breaker(system, c, shared, circuit_mode::disabled);
  run();
  CHECK(c->cell().state() == circuit_state::closed);
  CHECK(c->cell().mode() == circuit_mode::disabled);
  CHECK(c->cell().generation() > before);
}

TEST_CASE_METHOD(breaker_fixture, "a successor wakes for successes although its predecessor died lazy [C14]") {
  const auto c = circuit(window_profile());
  end(*c, outcome::success);
  kill(c->breaker());
  spawn_breaker(system, c, shared);
  run();
  CHECK(hand_in(*c, of(*c, outcome::success)).wake);
}

TEST_CASE_METHOD(breaker_fixture, "what was sent to a dead breaker is made good by its successor [C14]") {
  circuit_settings s;
  s.consecutive_failures = 1'000;
  const auto c = circuit(s);
  const auto dead = c->breaker();
  kill(dead);
  for (int i = 0; i < 100; ++i)
    hand_in(*c, of(*c, outcome::failure)); // wake-ups and messages to nobody
  CHECK(c->cell().try_admit(now()).what == fast_admission::kind::ask);
  spawn_breaker(system, c, shared);
  CHECK(c->breaker() != dead);
  run();
  CHECK(c->cell().try_admit(now()).what == fast_admission::kind::admitted);
  CHECK(figures(*c).consecutive_failures == 0);
}
