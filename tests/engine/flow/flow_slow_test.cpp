#include "driven_flow.hpp"

#include "support/catch.hpp"

using namespace switchyard;
using namespace switchyard::test;

namespace {

route_options slow_route(duration per_1k = {}) {
  route_options o;
  o.profile.consecutive_failures = 100;
  window_settings w;
  w.size = 10;
  w.minimum_calls = 1;
  w.slow_call_rate = 1.0;
  w.slow_call_after = 10s;
  w.slow_call_per_1k_tokens = per_1k;
  o.profile.window = w;
  o.deadline = 600s;
  return o;
}

// A profile that never trips by one slow call.
route_options tolerant_route() {
  auto o = slow_route();
  o.profile.window->minimum_calls = 10;
  return o;
}

} // namespace

TEST_CASE("a call still in flight after the slow limit is reported at that moment, once [C17]") {
  flow_world world;
  const auto& a = world.route("a", slow_route());
  driven_flow flow{world};
  flow.begin();
  CHECK(flow.it.wake_at() == start + 10s);
  CHECK(flow.wait() == texts{"wake a"});
  CHECK(world.drain(a).state() == circuit_state::open); // before the call has ended
  CHECK(flow.it.wake_at() == start + 600s);
  world.now += 5s;
  CHECK(flow.timer() == texts{});
}

TEST_CASE("when a hanging call ends, a failure amends its entry and anything else leaves it slow [C17]") {
  for (const bool fails : {true, false}) {
    flow_world world;
    const auto& a = world.route("a", tolerant_route());
    driven_flow flow{world};
    flow.begin();
    flow.wait();
    world.drain(a);
    world.now += 1s;
    if (fails)
      flow.fail(failure_class::timeout);
    else
      flow.succeed();
    const auto figures = world.drain(a).snapshot(world.now);
    CHECK(figures.window_calls == 1u);
    CHECK(figures.failure_rate == (fails ? 1.0 : 0.0));
    CHECK(figures.slow_call_rate == (fails ? 0.0 : 1.0));
  }
}

TEST_CASE("the slow limit grows with the input's tokens [C1]") {
  flow_world world;
  world.route("a", slow_route(2s));
  driven_flow flow{world, {.estimated_input_tokens = 1'500}};
  flow.begin();
  CHECK(flow.it.wake_at() == start + 13s);
}

TEST_CASE("a success slower than the limit is slow, one at the limit is not [C1]") {
  for (const duration took : {duration{10s}, duration{10s} + 1ns}) {
    flow_world world;
    const auto& a = world.route("a", tolerant_route());
    driven_flow flow{world};
    flow.begin();
    world.now += took;
    flow.succeed(); // before the timer
    CHECK(world.drain(a).snapshot(world.now).slow_call_rate == (took > 10s ? 1.0 : 0.0));
  }
}

TEST_CASE("the slow limit runs through a backoff, and the call is reported hanging in it [C17, R1]") {
  flow_world world;
  auto o = tolerant_route();
  o.base_delay = 5s;
  const auto& a = world.route("a", o);
  driven_flow flow{world};
  flow.begin();
  world.now += 8s;
  flow.fail(failure_class::server_error);
  CHECK(flow.it.wake_at() == start + 10s);
  CHECK(flow.wait() == texts{"wake a"});
  CHECK(flow.it.wake_at() == start + 13s);
  CHECK(flow.wait() == texts{"start a"});
  flow.succeed();
  CHECK(world.drain(a).snapshot(world.now).window_calls == 1u);
}

TEST_CASE("a probe is not reported hanging: its lease rules it [C8, C17]") {
  flow_world world;
  const auto& a = world.route("a", slow_route());
  driven_flow first{world};
  first.begin();
  first.wait(); // trips
  world.drain(a);
  first.succeed();
  world.cool_down(a);
  driven_flow probe{world};
  probe.begin();
  probe.feed(flow_input::breaker_verdict{world.ask(a)});
  REQUIRE(probe.starts == 1);
  CHECK(probe.it.wake_at() == world.now + 600s);
}

TEST_CASE("the queue being full, reports travel in messages and still amend each other [C4, C17]") {
  flow_world world;
  auto o = tolerant_route();
  o.capacity = 2;
  o.max_concurrency = 10;
  world.route("a", o);
  driven_flow filler1{world}, filler2{world}, flow{world};
  for (auto* f : {&filler1, &filler2, &flow})
    f->begin();
  filler1.fail(failure_class::client_error); // neutral: no report
  driven_flow filler3{world};
  filler3.begin();
  filler2.fail(failure_class::timeout);
  filler3.fail(failure_class::timeout);
  CHECK(flow.wait() == texts{"send a"});
  CHECK(flow.fail(failure_class::timeout) == texts{"send a", "finish upstream_timeout 504"});
  REQUIRE(flow.sent_reports.size() == 2);
  CHECK(flow.sent_reports[0].what == outcome::hanging);
  CHECK(flow.sent_reports[1].what == outcome::failure);
  CHECK(flow.sent_reports[1].amends == flow.sent_reports[0].ticket + 1);
}

TEST_CASE("a disabled or missing circuit is no obstacle to a report") {
  flow_world world;
  world.route("a", {.circuit = false, .max_attempts = 1});
  driven_flow flow{world};
  flow.begin();
  CHECK(flow.fail(failure_class::timeout) == texts{"finish upstream_timeout 504"});
  CHECK(world.events.lines("call") == texts{"call p-a failure"});
}

TEST_CASE("a failure's Retry-After reaches the circuit [C5]") {
  flow_world world;
  const auto& a = world.route("a", {.profile = cooling_for(10s, 1), .max_attempts = 1});
  driven_flow flow{world};
  flow.begin();
  flow.fail(failure_class::rate_limit, 70s);
  CHECK(world.drain(a).next_probe_at() == world.now + 70s);
}
