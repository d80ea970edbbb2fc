#include "driven_flow.hpp"

#include "support/catch.hpp"

using namespace switchyard;
using namespace switchyard::test;
using kind = flow_input::key_verdict::kind;

TEST_CASE("the deadline is the smaller of the route's and the caller's [B8]") {
  for (const auto& [timeout, expected] : std::vector<std::pair<std::optional<duration>, duration>>{
           {std::nullopt, 8s}, {duration{5s}, 5s}, {duration{20s}, 8s}, {duration::max(), 8s}}) {
    flow_world world;
    world.route("a", {.deadline = 8s});
    driven_flow flow{world, {.timeout = timeout}};
    flow.begin();
    CHECK(flow.it.wake_at() == start + expected);
  }
}

TEST_CASE("one deadline covers retries, waits and all routes [B8]") {
  flow_world world;
  world.route("a", {.max_attempts = 2, .base_delay = 1s, .deadline = 10s});
  const auto& b = world.route("b", {.deadline = 100s});
  driven_flow flow{world};
  flow.begin();
  world.now += 4s;
  flow.fail(failure_class::server_error);
  flow.wait();
  world.now += 4s;
  flow.fail(failure_class::server_error);
  REQUIRE(flow.starts == 3);
  CHECK(flow.it.wake_at() == start + 10s);
  CHECK(flow.wait() == texts{"stop", "finish deadline_exceeded 504"});
  CHECK(b.slots->used() == 0);
}

TEST_CASE("a request whose time is over before it begins reaches no provider [B8]") {
  flow_world world;
  const auto& a = world.route("a");
  driven_flow flow{world, {.timeout = duration{0}}};
  CHECK(flow.begin() == texts{"finish deadline_exceeded 504"});
  CHECK(a.slots->used() == 0);
}

TEST_CASE("an attempt that fails when the deadline is over leads to no further route [B8]") {
  flow_world world;
  world.route("a", {.max_attempts = 1});
  world.route("b");
  driven_flow flow{world, {.timeout = 5s}};
  flow.begin();
  world.now += 5s;
  CHECK(flow.fail(failure_class::server_error) == texts{"wake a", "finish deadline_exceeded 504"});
}

TEST_CASE("a probe granted after the deadline starts no attempt and is given back [B8, C16]") {
  flow_world world;
  const auto& a = world.route("a");
  world.trip(a);
  world.cool_down(a);
  driven_flow flow{world, {.timeout = 5s}};
  CHECK(flow.begin() == texts{"ask a"});
  const auto probe = world.ask(a);
  REQUIRE(probe.what == admission_verdict::kind::probe);
  world.now += 5s;
  CHECK(flow.feed(flow_input::breaker_verdict{probe}) == texts{"wake a", "finish deadline_exceeded 504"});
  CHECK(world.drain(a).snapshot(world.now).probes_in_flight == 0);
  CHECK(a.slots->used() == 0);
}

TEST_CASE("the deadline during a backoff lets the real error surface [B8, R3]") {
  flow_world world;
  const auto& a = world.route("a", {.base_delay = 1s});
  driven_flow flow{world, {.timeout = 5s}};
  flow.begin();
  flow.fail(failure_class::server_error);
  world.now += 6s; // the timer comes late
  CHECK(flow.timer() == texts{"wake a", "finish provider_error"});
  CHECK(a.slots->used() == 0);
}

TEST_CASE("an attempt cut by the caller's deadline is neutral for the circuit [F2]") {
  flow_world world;
  const auto& a = world.route("a");
  driven_flow flow{world, {.timeout = duration{10s} - 1ns}};
  flow.begin();
  CHECK(flow.wait() == texts{"stop", "finish deadline_exceeded 504"});
  CHECK(world.drain(a).snapshot(world.now).consecutive_failures == 0);
  CHECK(flow.it.trail().at(0).what == failure_class::deadline);
}

TEST_CASE("an attempt cut after unresponsive_after without a byte is a time-out of the provider [F2]") {
  for (const bool responded : {false, true}) {
    flow_world world;
    const auto& a = world.route("a");
    driven_flow flow{world, {.timeout = 10s}};
    flow.begin();
    world.now = flow.it.wake_at().value();
    CHECK(flow.timer(responded).back() == "finish deadline_exceeded 504");
    CHECK(flow.it.trail().at(0).what == (responded ? failure_class::deadline : failure_class::timeout));
    CHECK(world.drain(a).snapshot(world.now).consecutive_failures == (responded ? 0u : 1u));
  }
}

TEST_CASE("a timer that comes early does nothing") {
  flow_world world;
  world.route("a");
  driven_flow flow{world};
  flow.begin();
  world.now += 1s;
  CHECK(flow.timer() == texts{});
  CHECK_FALSE(flow.it.done());
}

TEST_CASE("the deadline ends a request that waits for its key [B8]") {
  flow_world world;
  world.route("a");
  driven_flow flow{world, {.timeout = 5s, .keyed = true}};
  flow.begin();
  CHECK(flow.it.wake_at() == start + 5s);
  CHECK(flow.wait() == texts{"finish deadline_exceeded 504"});
}

TEST_CASE("a joiner whose time is over leaves the key alone [I7, B8]") {
  flow_world world;
  world.route("a");
  driven_flow flow{world, {.timeout = 5s, .keyed = true}};
  flow.begin();
  CHECK(flow.verdict(kind::joined) == texts{});
  CHECK(flow.it.wake_at() == start + 5s);
  CHECK(flow.wait() == texts{"leave", "finish deadline_exceeded 504"});
}

TEST_CASE("a leader whose time is over settles its key first [B8, I6]") {
  flow_world world;
  world.route("a");
  driven_flow flow{world, {.timeout = 5s, .keyed = true}};
  flow.begin();
  flow.verdict(kind::lead);
  CHECK(flow.wait() == texts{"stop", "settle failure"});
  CHECK(flow.wait() == texts{"finish deadline_exceeded 504"}); // what the shard says to it is not waited for
}

TEST_CASE("the deadline ends a request that waits for a breaker's answer [B8]") {
  flow_world world;
  const auto& a = world.route("a");
  world.route("b");
  world.trip(a);
  world.cool_down(a);
  const auto begun = world.now;
  driven_flow flow{world, {.timeout = 1s}};
  REQUIRE(flow.begin() == texts{"ask a"});
  CHECK(flow.it.wake_at() == begun + 1s);
  CHECK(flow.wait() == texts{"finish deadline_exceeded 504"});
  CHECK(a.slots->used() == 0);
}

TEST_CASE("the deadline ends a request whose answer is still being stored [B8, I8]") {
  flow_world world;
  world.route("a");
  driven_flow flow{world, {.timeout = 5s, .keyed = true}};
  flow.begin();
  flow.verdict(kind::lead);
  REQUIRE(flow.succeed() == texts{"settle success"});
  CHECK(flow.wait() == texts{"finish deadline_exceeded 504"});
  CHECK(flow.it.take_record().request.failure == failure_class::deadline);
}

TEST_CASE("a failure whose joiners are still being told keeps its name at the deadline [B8, B3]") {
  flow_world world;
  world.route("a", {.max_attempts = 1});
  driven_flow flow{world, {.timeout = 5s, .keyed = true}};
  flow.begin();
  flow.verdict(kind::lead);
  REQUIRE(flow.fail(failure_class::server_error).back() == "settle failure");
  CHECK(flow.wait() == texts{"finish provider_error"});
}

TEST_CASE("an attempt cut before anything was sent cannot have been charged [R6]") {
  for (const bool sent : {false, true}) {
    flow_world world;
    world.route("a");
    driven_flow flow{world, {.timeout = 5s}};
    flow.begin();
    world.now += 5s;
    flow.timer(false, sent);
    CHECK(flow.it.take_record().request.outcome_unknown == sent);
  }
}

TEST_CASE("a joiner that is promoted when its time is over gives the lead back at once [I7, B8]") {
  flow_world world;
  world.route("a");
  driven_flow flow{world, {.timeout = 5s, .keyed = true}};
  flow.begin();
  flow.verdict(kind::joined);
  world.now += 5s;
  CHECK(flow.verdict(kind::lead) == texts{"settle failure"});
  CHECK(flow.feed(flow_input::key_settled{}) == texts{"finish deadline_exceeded 504"});
}
