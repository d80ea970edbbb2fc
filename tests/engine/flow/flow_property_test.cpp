#include "driven_flow.hpp"

#include "support/catch.hpp"

#include <rapidcheck.h>

#include <numeric>

using namespace switchyard;
using namespace switchyard::test;

namespace {

// Routes of all sorts, some with an open or half-open circuit.
struct random_world {
  flow_world world;
  std::uint32_t attempts_allowed = 0;

  random_world() {
    const auto routes = *rc::gen::inRange(1, 4);
    for (int i = 0; i < routes; ++i) {
      route_options o;
      o.circuit = *rc::gen::weightedElement<bool>({{4, true}, {1, false}});
      o.profile.consecutive_failures = 2;
      o.profile.probes = *rc::gen::inRange(1u, 3u);
      o.profile.probe_lease = 3600s;
      if (*rc::gen::arbitrary<bool>()) {
        window_settings w;
        w.slow_call_rate = 0.5;
        w.slow_call_after = 2s;
        w.minimum_calls = 1;
        w.size = 4;
        o.profile.window = w;
      }
      o.capacity = 2;
      o.max_concurrency = *rc::gen::weightedElement<std::uint32_t>({{5, 1}, {1, 0}});
      o.max_attempts = *rc::gen::inRange(1u, 4u);
      o.deadline = 20s;
      if (*rc::gen::inRange(0, 6) == 0)
        o.context_tokens = 50;
      attempts_allowed += o.max_attempts;
      const auto& t = world.route(std::string(1, static_cast<char>('a' + i)), o);
      if (o.circuit && *rc::gen::inRange(0, 3) == 0) {
        world.trip(t);
        if (*rc::gen::arbitrary<bool>())
          world.cool_down(t);
      }
    }
  }
};

flow_event random_input(flow_world& world) {
  switch (*rc::gen::inRange(0, 12)) {
  case 0:
    return flow_input::begin{};
  case 1: {
    flow_input::key_verdict v;
    v.what = static_cast<flow_input::key_verdict::kind>(*rc::gen::inRange(0, 7));
    return v;
  }
  case 2: {
    const auto chain = world.chain();
    const auto& t = *chain[*rc::gen::inRange<std::size_t>(0, chain.size())];
    flow_input::breaker_verdict v;
    if (t.circuit && *rc::gen::arbitrary<bool>())
      v.verdict = admission_verdict{}; // refused
    return v;
  }
  case 3:
  case 4:
  case 5: {
    flow_input::attempt_done d;
    if (*rc::gen::inRange(0, 5) != 0)
      d.failure = static_cast<failure_class>(*rc::gen::inRange(0, failure_class_count));
    if (*rc::gen::arbitrary<bool>())
      d.status = 500;
    if (*rc::gen::inRange(0, 3) == 0)
      d.retry_after = std::chrono::seconds{*rc::gen::inRange(0, 30)};
    d.sent = *rc::gen::arbitrary<bool>();
    return d;
  }
  case 6:
    return flow_input::key_settled{*rc::gen::arbitrary<bool>()};
  case 8:
    return flow_input::content_begun{200};
  case 9: {
    flow_input::cache_verdict v;
    v.what = static_cast<flow_input::cache_verdict::kind>(*rc::gen::inRange(0, 4));
    v.stale = *rc::gen::arbitrary<bool>();
    v.status = 200;
    return v;
  }
  case 10:
    return flow_input::budget_verdict{static_cast<flow_input::budget_verdict::kind>(*rc::gen::inRange(0, 3)), {}};
  case 7:
    return flow_input::timer{{.sent = *rc::gen::arbitrary<bool>(), .responded = *rc::gen::arbitrary<bool>()}};
  default:
    return flow_input::cancel{*rc::gen::inRange(0, 6) == 0};
  }
}

// What the flow has asked of cache and budgets and was answered: says what it owes them.
class debts {
public:
  texts feed(driven_flow& flow, const flow_event& input) {
    using cache_kind = flow_input::cache_verdict::kind;
    using budget_kind = flow_input::budget_verdict::kind;
    if (const auto* v = std::get_if<flow_input::cache_verdict>(&input); v && asks_cache_) {
      asks_cache_ = v->what == cache_kind::joined;
      leads_ = leads_ || v->what == cache_kind::lead;
    }
    if (const auto* v = std::get_if<flow_input::budget_verdict>(&input); v && asks_budget_) {
      asks_budget_ = false;
      reserved_ = v->what != budget_kind::refused;
    }
    auto actions = flow.feed(input);
    for (const auto& action : actions) {
      asks_cache_ = asks_cache_ || action == "look up";
      if (action == "budget")
        asks_budget_ = reserved_ = true;
    }
    if (flow.it.done())
      asks_cache_ = asks_budget_ = false;
    return actions;
  }

  int cache_settlements() const { return leads_ ? 1 : 0; }
  std::size_t budget_settlements() const { return reserved_ ? 1 : 0; }

private:
  bool asks_cache_ = false, leads_ = false, asks_budget_ = false, reserved_ = false;
};

// Everything that ends whatever the flow may be waiting for, now.
void finish_off(driven_flow& flow, debts& owed) {
  owed.feed(flow, flow_input::cancel{true});
  owed.feed(flow, flow_input::key_verdict{});
  owed.feed(flow, flow_input::cache_verdict{});
  owed.feed(flow, flow_input::budget_verdict{});
  owed.feed(flow, flow_input::breaker_verdict{});
  owed.feed(flow, flow_input::key_settled{});
}

} // namespace

TEST_CASE("inputs in any order: bounded attempts, none after the deadline, and an end that gives everything back "
          "[R1, R5, B8, U1, U3, U4, C16]") {
  const bool held = rc::check([] {
    random_world w;
    auto& world = w.world;
    std::vector<std::uint32_t> probes_granted;
    const bool stream = *rc::gen::arbitrary<bool>();
    driven_flow flow{world,
                     {.keyed = *rc::gen::arbitrary<bool>(),
                      .stream = stream,
                      .cacheable = !stream && *rc::gen::arbitrary<bool>(),
                      .budgeted = *rc::gen::arbitrary<bool>(),
                      .estimated_tokens = 100}};
    const auto deadline = world.now + 20s;
    debts owed;
    owed.feed(flow, flow_input::begin{});
    const auto steps = *rc::gen::inRange(0, 40);
    bool busy = false;
    for (int i = 0; i < steps && !flow.it.done(); ++i) {
      world.now += std::chrono::milliseconds{*rc::gen::weightedElement<int>({{3, 0}, {3, 50}, {2, 500}, {1, 5'000}})};
      const auto before = flow.starts;
      const auto actions = owed.feed(flow, random_input(world));
      // Whoever is asked answers: a probe goes only to this flow.
      for (const auto& action : actions)
        if (action.starts_with("ask ") && *rc::gen::arbitrary<bool>())
          for (const auto* t : world.chain())
            if (action == "ask " + t->route)
              owed.feed(flow, flow_input::breaker_verdict{world.ask(*t)});
      RC_ASSERT(flow.starts == before || world.now < deadline);
      // A timer that is due is done with once it was fed, or once more when the key was settled at the deadline: no
      // busy loop.
      const auto due = [&] {
        const auto at = flow.it.wake_at();
        return at && *at <= world.now;
      };
      for (int fed = 0; fed < 2 && due(); ++fed)
        owed.feed(flow, flow_input::timer{});
      busy = busy || due();
    }
    RC_ASSERT_FALSE(busy);
    finish_off(flow, owed);
    RC_ASSERT(flow.it.done());
    RC_ASSERT(flow.finished.size() == 1u);
    RC_ASSERT(flow.cache_settled == owed.cache_settlements());
    RC_ASSERT(flow.budget_settled.size() == owed.budget_settlements());
    RC_ASSERT(flow.starts == flow.it.attempts());
    RC_ASSERT(flow.starts <= w.attempts_allowed);
    RC_ASSERT(flow.it.take_record().attempts.size() == flow.starts);
    for (const auto* t : world.chain()) {
      RC_ASSERT(t->slots->used() == 0u);
      if (!t->circuit)
        continue;
      auto& it = world.drain(*t);
      for (const auto& sent : flow.sent_reports)
        it.report(sent, world.now);
      const auto figures = it.snapshot(world.now);
      RC_ASSERT(figures.probes_in_flight == 0u);
      RC_ASSERT(figures.refused_reports == 0u);
    }
  });
  CHECK(held);
}
