#include "driven_flow.hpp"

#include "support/catch.hpp"

#include <functional>

using namespace switchyard;
using namespace switchyard::test;
using kind = flow_input::key_verdict::kind;

namespace {

// A flow in each of its states, with a circuit that is asked or admits at once.
struct stage {
  std::string name;
  bool keyed, asks;
  std::function<void(driven_flow&, flow_world&)> reach;
};

const std::vector<stage>& stages() {
  static const auto nothing = [](driven_flow&, flow_world&) {};
  static const auto begin = [](driven_flow& f, flow_world&) { f.begin(); };
  static const auto lead = [](driven_flow& f, flow_world&) { f.begin(), f.verdict(kind::lead); };
  static const auto back_off = [](driven_flow& f, flow_world&) { f.begin(), f.fail(failure_class::server_error); };
  static const auto lead_back_off = [](driven_flow& f, flow_world& w) {
    lead(f, w), f.fail(failure_class::server_error);
  };
  static const std::vector<stage> all = {
      {"idle", false, false, nothing},
      {"reserving", true, false, begin},
      {"joined", true, false, [](driven_flow& f, flow_world&) { f.begin(), f.verdict(kind::joined); }},
      {"asking", false, true, begin},
      {"leader asking", true, true, lead},
      {"attempting", false, false, begin},
      {"leader attempting", true, false, lead},
      {"backing off", false, false, back_off},
      {"leader backing off", true, false, lead_back_off},
      {"settling", true, false, [](driven_flow& f, flow_world& w) { lead(f, w), f.succeed(); }},
      {"done", false, false, [](driven_flow& f, flow_world&) { f.begin(), f.succeed(); }},
  };
  return all;
}

// A world with two routes and a flow in a state of it.
struct staged {
  explicit staged(const stage& s) : flow{prepare(s.asks), {.keyed = s.keyed}} { s.reach(flow, world); }

  flow_world& prepare(bool asks) {
    auto& a = world.route("a");
    world.route("b");
    if (asks) {
      world.trip(a);
      world.cool_down(a);
    }
    return world;
  }

  const route_target& a() { return *world.chain()[0]; }

  // Answers to whatever the flow may be waiting for; what does not fit is ignored.
  void answer_all() {
    flow.verdict(kind::lead);
    if (world.breaker(a()).state() == circuit_state::half_open)
      flow.feed(flow_input::breaker_verdict{world.ask(a())});
    else
      flow.feed(flow_input::breaker_verdict{});
    flow.feed(flow_input::key_settled{});
  }

  flow_world world;
  driven_flow flow;
};

} // namespace

TEST_CASE("shutdown ends a request in each state, and slot, permit and probe come back exactly once [U4, C16, S3]") {
  for (const auto& s : stages()) {
    staged at{s};
    INFO(s.name);
    at.flow.cancel(true);
    at.answer_all();
    CHECK(at.flow.it.done());
    CHECK(at.flow.finished.size() == 1);
    for (const auto* t : at.world.chain()) {
      CHECK(t->slots->used() == 0);
      CHECK(at.world.drain(*t).snapshot(at.world.now).probes_in_flight == 0);
      CHECK(at.world.breaker(*t).snapshot(at.world.now).refused_reports == 0);
    }
    if (s.name != "done" && s.name != "settling")
      CHECK(at.flow.finished.at(0).code == errc::shutting_down);
    CHECK(at.flow.starts == (s.name.ends_with("attempting") || s.name.ends_with("backing off") ||
                             s.name == "settling" || s.name == "done"));
  }
}

TEST_CASE(
    "a caller that leaves ends its request in each state but a leader's, slot and permit come back [U4, C16, I7]") {
  for (const auto& s : stages()) {
    if (s.name.starts_with("leader") || s.name == "settling" || s.name == "done" || s.name == "reserving")
      continue; // flow_key_test.cpp
    staged at{s};
    INFO(s.name);
    at.flow.cancel();
    if (s.asks)
      at.flow.feed(flow_input::breaker_verdict{at.world.ask(at.a())});
    CHECK(at.flow.it.done());
    REQUIRE(at.flow.finished.size() == 1);
    CHECK(at.flow.finished[0].code == errc::cancelled);
    CHECK(at.a().slots->used() == 0);
    CHECK(at.world.drain(at.a()).snapshot(at.world.now).probes_in_flight == 0);
  }
}

TEST_CASE("a cancelled attempt is stopped on the wire and says nothing about its provider [C8, H2]") {
  flow_world world;
  const auto& a = world.route("a");
  driven_flow flow{world};
  flow.begin();
  CHECK(flow.cancel() == texts{"stop", "finish cancelled 499"});
  CHECK(world.drain(a).snapshot(world.now).consecutive_failures == 0);
  CHECK(world.events.lines("call") == texts{"call p-a cancelled"});
  CHECK_FALSE(traits(failure_class::cancelled).counts_in_health);
}

TEST_CASE("a cancelled probe gives its slot back and the next caller probes [C8]") {
  flow_world world;
  const auto& a = world.route("a");
  world.trip(a);
  world.cool_down(a);
  driven_flow first{world};
  first.begin();
  first.feed(flow_input::breaker_verdict{world.ask(a)});
  REQUIRE(first.starts == 1);
  first.cancel();
  driven_flow second{world};
  world.drain(a);
  second.begin();
  CHECK(second.feed(flow_input::breaker_verdict{world.ask(a)}) == texts{"start a"});
}

TEST_CASE("an input that does not fit the state is ignored") {
  const std::vector<std::pair<std::string, flow_event>> inputs = {
      {"begin", flow_input::begin{}},
      {"key_verdict", flow_input::key_verdict{}},
      {"breaker_verdict", flow_input::breaker_verdict{}},
      {"attempt_done", flow_input::attempt_done{}},
      {"key_settled", flow_input::key_settled{}},
      {"timer", flow_input::timer{}}, // before its time
  };
  const auto fits = [](const std::string& state, const std::string& input) {
    return (state == "idle" && input == "begin") ||
           ((state == "reserving" || state == "joined") && input == "key_verdict") ||
           (state.ends_with("asking") && input == "breaker_verdict") ||
           (state.ends_with("attempting") && input == "attempt_done") ||
           (state == "settling" && input == "key_settled");
  };
  for (const auto& s : stages())
    for (const auto& [name, input] : inputs) {
      staged at{s};
      INFO(s.name << " and " << name);
      const auto wake = at.flow.it.wake_at();
      const auto slots = at.a().slots->used();
      const auto before = at.world.events.lines().size();
      const auto actions = at.flow.feed(input);
      if (fits(s.name, name)) {
        CHECK_FALSE(actions.empty());
        continue;
      }
      CHECK(actions == texts{});
      CHECK(at.flow.it.wake_at() == wake);
      CHECK(at.a().slots->used() == slots);
      CHECK(at.world.events.lines().size() == before);
    }
}

TEST_CASE("a flow that is destroyed gives its slot back in each state [U4]") {
  for (const auto& s : stages()) {
    flow_world world;
    const auto& a = world.route("a");
    INFO(s.name);
    {
      driven_flow flow{world, {.keyed = s.keyed}};
      if (!s.asks)
        s.reach(flow, world);
    }
    CHECK(a.slots->used() == 0);
  }
}
