#include "driven_flow.hpp"

#include "support/catch.hpp"

using namespace switchyard;
using namespace switchyard::test;

TEST_CASE("a call is at most max_attempts attempts and one outcome [R1]") {
  flow_world world;
  const auto& a = world.route("a", {.max_attempts = 3});
  driven_flow flow{world};
  CHECK(flow.begin() == texts{"start a"});
  CHECK(flow.fail(failure_class::server_error) == texts{});
  CHECK(flow.wait() == texts{"start a"});
  CHECK(flow.fail(failure_class::server_error) == texts{});
  CHECK(flow.wait() == texts{"start a"});
  CHECK(flow.fail(failure_class::server_error) == texts{"wake a", "finish provider_error"});
  CHECK(flow.it.attempts() == 3);
  CHECK(world.drain(a).snapshot(world.now).consecutive_failures == 1);
  CHECK(world.events.lines("call") == texts{"call p-a failure"});
  CHECK(a.slots->used() == 0);
}

TEST_CASE("a call that succeeds after a retry is one success [R1]") {
  flow_world world;
  const auto& a = world.route("a");
  world.trip(a);
  world.cool_down(a); // a probe's outcome is always reported
  driven_flow flow{world};
  CHECK(flow.begin() == texts{"ask a"});
  CHECK(flow.feed(flow_input::breaker_verdict{world.ask(a)}) == texts{"start a"});
  flow.fail(failure_class::connection);
  flow.wait();
  CHECK(flow.succeed() == texts{"wake a", "finish answer"});
  CHECK(world.drain(a).state() == circuit_state::closed);
  CHECK(world.reports.size() == 1);
}

TEST_CASE("the delays between attempts grow up to the maximum [R2]") {
  flow_world world;
  world.route("a", {.max_attempts = 5, .base_delay = 100ms, .max_delay = 300ms});
  driven_flow flow{world};
  flow.begin();
  for (const duration expected : {100ms, 200ms, 300ms, 300ms}) {
    flow.fail(failure_class::connection);
    CHECK(flow.it.wake_at() == world.now + expected);
    CHECK(flow.wait() == texts{"start a"});
  }
}

TEST_CASE("only the classes of the table are retried in place [R1, F table]") {
  for (int i = 0; i < failure_class_count; ++i) {
    const auto f = static_cast<failure_class>(i);
    if (f == failure_class::rate_limit)
      continue; // by R4
    flow_world world;
    world.route("a");
    driven_flow flow{world};
    flow.begin();
    flow.fail(f);
    INFO(to_string(f));
    CHECK(flow.it.done() == !traits(f).retried_in_place);
  }
}

TEST_CASE("no retry when the remaining deadline is shorter than the delay: the real error surfaces and counts [R3]") {
  flow_world world;
  const auto& a = world.route("a", {.base_delay = 2s, .deadline = 3s});
  driven_flow flow{world};
  flow.begin();
  world.now += 1s;
  CHECK(flow.fail(failure_class::server_error) == texts{"wake a", "finish provider_error"});
  CHECK(world.drain(a).snapshot(world.now).consecutive_failures == 1);
}

TEST_CASE("no retry when the circuit has opened meanwhile, before or during the wait [R3]") {
  flow_world world;
  const auto& a = world.route("a");
  const auto& b = world.route("b");
  driven_flow before{world}, during{world};
  before.begin();
  during.begin();
  CHECK(during.fail(failure_class::server_error) == texts{});
  world.trip(a);
  CHECK(before.fail(failure_class::server_error) == texts{"start b"});
  CHECK(during.wait() == texts{"start b"});
  CHECK(during.it.attempts() == 2);
  CHECK(a.slots->used() == 0);
  CHECK(b.slots->used() == 2);
}

TEST_CASE("no retry after the caller has left: the real error counts [R3]") {
  flow_world world;
  const auto& a = world.route("a");
  driven_flow flow{world};
  flow.begin();
  flow.fail(failure_class::server_error);
  CHECK(flow.cancel() == texts{"wake a", "finish cancelled 499"});
  CHECK(world.drain(a).snapshot(world.now).consecutive_failures == 1);
  CHECK(a.slots->used() == 0);
}

TEST_CASE("no retry when the retry budget is empty, and first attempts fill it again [R3]") {
  flow_world world;
  const auto& a = world.route("a", {.circuit = false, .max_attempts = 2, .retry_budget = 0.5});
  while (a.retries->try_take()) {
  }
  driven_flow first{world};
  first.begin();
  CHECK(first.fail(failure_class::server_error) == texts{"finish provider_error"});
  driven_flow second{world};
  second.begin();
  CHECK(second.fail(failure_class::server_error) == texts{}); // two first attempts have earned one retry
  CHECK(a.retries->tokens() < 1);
}

TEST_CASE("a failure that is not retried takes nothing from the retry budget [R3]") {
  flow_world world;
  const auto& a = world.route("a", {.max_attempts = 1});
  const auto before = a.retries->tokens();
  driven_flow flow{world};
  flow.begin();
  flow.fail(failure_class::server_error);
  CHECK(a.retries->tokens() == Approx(before + 0.2));
}

TEST_CASE("a retry waits at least as long as Retry-After says [R4]") {
  flow_world world;
  world.route("a", {.base_delay = 100ms, .max_delay = 10s});
  driven_flow flow{world};
  flow.begin();
  flow.fail(failure_class::server_error, 4s);
  CHECK(flow.it.wake_at() == world.now + 4s);
}

TEST_CASE("a Retry-After beyond the maximum delay is not waited for in place [R4]") {
  flow_world world;
  world.route("a", {.max_delay = 3s});
  driven_flow flow{world};
  flow.begin();
  const auto end = flow.fail(failure_class::server_error, 4s);
  CHECK(end == texts{"wake a", "finish provider_error"});
  CHECK(flow.finished.at(0).retry_after == 4s);
}

TEST_CASE("a rate-limited call is retried in place only when no other route is left [R4]") {
  flow_world world;
  world.route("a");
  world.route("b");
  driven_flow flow{world};
  flow.begin();
  CHECK(flow.fail(failure_class::rate_limit, 1s) == texts{"wake a", "start b"});
  CHECK(flow.fail(failure_class::rate_limit, 1s) == texts{});
  CHECK(flow.it.wake_at() == world.now + 1s);
  CHECK(flow.wait() == texts{"start b"});
  CHECK(flow.succeed() == texts{"finish answer"});
}

TEST_CASE("a rate-limited call is not retried when the wait does not fit in the deadline [R4]") {
  flow_world world;
  world.route("a", {.max_delay = 10s, .deadline = 5s});
  driven_flow flow{world};
  flow.begin();
  CHECK(flow.fail(failure_class::rate_limit, 6s) == texts{"wake a", "finish provider_error"});
}

TEST_CASE("the attempts of a request are the sum over its routes [R5]") {
  flow_world world;
  world.route("a", {.max_attempts = 2});
  world.route("b", {.max_attempts = 3});
  driven_flow flow{world};
  flow.begin();
  while (!flow.it.done()) {
    flow.fail(failure_class::server_error);
    if (flow.it.wake_at() && *flow.it.wake_at() < world.now + 30s)
      flow.wait();
  }
  CHECK(flow.it.attempts() == 5);
  CHECK(flow.starts == 5);
  CHECK(flow.it.trail().size() == 5);
}

TEST_CASE("an attempt whose answer was lost is marked, one that was never sent is not [R6, R7]") {
  flow_world world;
  world.route("a", {.max_attempts = 3});
  driven_flow flow{world};
  flow.begin();
  flow_input::attempt_done unsent;
  unsent.failure = failure_class::connection;
  unsent.error = transport_error::refused;
  flow.feed(unsent);
  flow.wait();
  flow.fail(failure_class::connection); // sent
  flow.wait();
  flow.fail(failure_class::server_error); // answered
  const auto record = flow.it.take_record();
  REQUIRE(record.attempts.size() == 3);
  CHECK_FALSE(record.attempts[0].outcome_unknown);
  CHECK(record.attempts[1].outcome_unknown);
  CHECK_FALSE(record.attempts[2].outcome_unknown);
  CHECK(record.request.outcome_unknown);
}

TEST_CASE("a retry that is not made gives its token back [R3]") {
  const auto tokens_after = [](auto&& leave) {
    flow_world world;
    const auto& a = world.route("a", {.base_delay = 1s});
    driven_flow flow{world, {.timeout = 5s}};
    flow.begin();
    flow.fail(failure_class::connection);
    const auto taken = a.retries->tokens();
    leave(world, flow, a);
    CHECK(flow.it.done());
    return a.retries->tokens() - taken;
  };
  SECTION("because the caller left") {
    CHECK(tokens_after([](auto&, auto& flow, auto&) { flow.cancel(); }) == 1.0);
  }
  SECTION("because the deadline came") {
    CHECK(tokens_after([](auto& world, auto& flow, auto&) {
            world.now += 6s;
            flow.timer();
          }) == 1.0);
  }
  SECTION("because the circuit opened meanwhile") {
    CHECK(tokens_after([](auto& world, auto& flow, auto& a) {
            world.trip(a);
            flow.wait();
          }) == 1.0);
  }
}

TEST_CASE("a permit that goes back unused is no call in the metrics [C16, M]") {
  flow_world world;
  const auto& a = world.route("a");
  world.trip(a);
  world.cool_down(a);
  driven_flow flow{world};
  REQUIRE(flow.begin() == texts{"ask a"});
  flow.cancel();
  flow.feed(flow_input::breaker_verdict{world.ask(a)});
  CHECK(flow.it.done());
  CHECK(world.drain(a).snapshot(world.now).probes_in_flight == 0);
  CHECK(world.events.lines("call") == texts{});
}
