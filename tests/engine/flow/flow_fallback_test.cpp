#include "driven_flow.hpp"

#include "support/catch.hpp"

using namespace switchyard;
using namespace switchyard::test;

namespace {

texts routes_of(const request_flow& flow) {
  texts all;
  for (const auto& entry : flow.trail())
    all.push_back(entry.route + " " + std::string{to_string(entry.what)});
  return all;
}

} // namespace

TEST_CASE("the routes are tried in the order of the chain, each once [B1]") {
  flow_world world;
  for (const auto* name : {"a", "b", "c"})
    world.route(name, {.max_attempts = 1});
  driven_flow flow{world};
  CHECK(flow.begin() == texts{"start a"});
  CHECK(flow.fail(failure_class::timeout) == texts{"wake a", "start b"});
  CHECK(flow.fail(failure_class::server_error) == texts{"wake b", "start c"});
  CHECK(flow.succeed() == texts{"finish answer"});
  CHECK(flow.it.fallbacks() == 2);
  CHECK(flow.it.last_target()->route == "c");
  CHECK(world.events.lines("fallback") == texts{"fallback a>b timeout", "fallback b>c server_error"});
}

TEST_CASE("with one route left its own error surfaces as it is [B2]") {
  const std::vector<std::pair<failure_class, std::string>> table = {
      {failure_class::connection, "finish upstream_connection 502"},
      {failure_class::timeout, "finish upstream_timeout 504"},
      {failure_class::rate_limit, "finish provider_error"},
      {failure_class::server_error, "finish provider_error"},
      {failure_class::empty_response, "finish upstream_invalid 502"},
      {failure_class::soft_failure, "finish upstream_invalid 502"},
      {failure_class::auth, "finish provider_error"},
      {failure_class::context_length, "finish provider_error"},
      {failure_class::content_policy, "finish provider_error"},
      {failure_class::client_error, "finish provider_error"},
      {failure_class::configuration, "finish misconfigured 500"},
      {failure_class::unknown, "finish upstream_error 502"},
  };
  for (const auto& [f, expected] : table) {
    flow_world world;
    world.route("a", {.circuit = false, .max_attempts = 1});
    driven_flow flow{world};
    flow.begin();
    CHECK(flow.fail(f) == texts{expected});
  }
}

TEST_CASE("a time-out that is an HTTP 408 passes through like any provider error [F1]") {
  flow_world world;
  world.route("a", {.circuit = false});
  driven_flow flow{world};
  flow.begin();
  flow_input::attempt_done done;
  done.failure = failure_class::timeout;
  done.status = 408;
  CHECK(flow.feed(done) == texts{"finish provider_error"});
}

TEST_CASE("the class table decides what falls over, and a non-falling error ends the walk [B3]") {
  for (int i = 0; i < failure_class_count; ++i) {
    const auto f = static_cast<failure_class>(i);
    flow_world world;
    world.route("a", {.max_attempts = 1});
    world.route("b");
    driven_flow flow{world};
    flow.begin();
    flow.fail(f);
    INFO(to_string(f));
    CHECK(flow.it.done() == !traits(f).falls_over);
    CHECK(flow.starts == (traits(f).falls_over ? 2u : 1u));
  }
}

TEST_CASE("a route's fallback_on lets more classes fall over [F1]") {
  for (const auto f : {failure_class::auth, failure_class::context_length, failure_class::content_policy,
                       failure_class::client_error}) {
    flow_world world;
    world.route("a", {.fallback_on = {f}});
    world.route("b");
    driven_flow flow{world};
    flow.begin();
    CHECK(flow.fail(f) == texts{"start b"});
  }
}

TEST_CASE("exhausted: every attempt and refusal is told, in order, with the smallest known wait [B4]") {
  flow_world world;
  const auto& a = world.route("a", {.max_attempts = 1, .max_delay = 1s});
  const auto& b = world.route("b", {.profile = cooling_for(20s)});
  world.route("c", {.max_attempts = 1, .max_delay = 1s});
  world.trip(b);
  driven_flow flow{world};
  flow.begin();
  world.now += 2s;
  flow.fail(failure_class::rate_limit, 40s);
  CHECK(flow.fail(failure_class::server_error, 30s) == texts{"wake c", "finish fallback_exhausted 502"});
  CHECK(routes_of(flow.it) == texts{"a rate_limit", "b circuit_open", "c server_error"});
  const auto& trail = flow.it.trail();
  CHECK(trail[0].provider == "p-a");
  CHECK(trail[0].model == "m-a");
  CHECK(trail[0].status == 429);
  CHECK(trail[0].latency == 2s);
  CHECK_FALSE(trail[1].status);
  CHECK(trail[1].message == "circuit p-b refuses");
  CHECK(flow.finished.at(0).retry_after == 18s); // b's circuit
  CHECK(a.slots->used() == 0);
  CHECK(b.slots->used() == 0);
}

TEST_CASE("a wait told by an early route is shorter by the time of the later ones [B4]") {
  flow_world world;
  const auto& a = world.route("a", {.profile = cooling_for(20s)});
  world.route("b", {.max_attempts = 1});
  world.trip(a);
  driven_flow flow{world};
  flow.begin();
  world.now += 5s;
  flow.fail(failure_class::server_error);
  CHECK(flow.finished.at(0).retry_after == 15s);
}

TEST_CASE("exhausted by rate limits and refusals alone is 503 [B4]") {
  flow_world world;
  world.route("a", {.circuit = false, .max_attempts = 1});
  world.route("b", {.circuit = false, .max_concurrency = 0});
  driven_flow flow{world};
  flow.begin();
  CHECK(flow.fail(failure_class::rate_limit) == texts{"finish fallback_exhausted 503"});
}

TEST_CASE("all routes refused: no call is made, each refusal is an event, the smallest wait is told [B5, C11]") {
  flow_world world;
  const auto& a = world.route("a", {.profile = cooling_for(40s)});
  const auto& b = world.route("b", {.profile = cooling_for(25s)});
  world.trip(a);
  world.trip(b);
  world.now += 5s;
  driven_flow flow{world};
  CHECK(flow.begin() == texts{"finish fallback_exhausted 503"});
  CHECK(flow.finished.at(0).retry_after == 20s);
  CHECK(flow.it.attempts() == 0);
  CHECK(world.events.lines("refused") == texts{"refused p-a r1", "refused p-b r1"});
  CHECK(world.events.waits() == std::vector<std::optional<duration>>{35s, 20s});
  CHECK(a.circuit->refusals() == 1);
}

TEST_CASE("the only route refused by its circuit is circuit_open with the remaining wait [B5]") {
  flow_world world;
  const auto& a = world.route("a", {.profile = cooling_for(30s)});
  world.trip(a);
  world.now += 10s;
  driven_flow flow{world};
  CHECK(flow.begin() == texts{"finish circuit_open 503"});
  CHECK(flow.finished.at(0).retry_after == 20s);
  CHECK(a.slots->used() == 0);
}

TEST_CASE("a breaker that refuses or cannot be reached leads to the next route [B5]") {
  for (const bool reachable : {true, false}) {
    flow_world world;
    const auto& a = world.route("a", {.profile = cooling_for(30s)});
    world.route("b");
    world.trip(a);
    world.now += 30s; // the timer has not come yet, so the view still says open
    driven_flow flow{world};
    CHECK(flow.begin() == texts{"ask a"});
    flow_input::breaker_verdict answer;
    if (reachable)
      answer.verdict = admission_verdict{};
    CHECK(flow.feed(answer) == texts{"start b"});
    CHECK(a.slots->used() == 0);
    CHECK(world.events.lines("refused") == texts{"refused p-a r1"});
  }
}

TEST_CASE("a full bulkhead refuses at once and leads to the next route [U4]") {
  flow_world world;
  const auto& a = world.route("a", {.max_concurrency = 1});
  world.route("b");
  driven_flow first{world}, second{world};
  first.begin();
  CHECK(second.begin() == texts{"start b"});
  CHECK(routes_of(second.it) == texts{"a overloaded"});
  first.succeed();
  CHECK(a.slots->used() == 0);
}

TEST_CASE("the only route's full bulkhead is overloaded [U4]") {
  flow_world world;
  world.route("a", {.max_concurrency = 0});
  driven_flow flow{world};
  CHECK(flow.begin() == texts{"finish overloaded 503"});
}

TEST_CASE("a route whose context window is too small is skipped like a refused one [B7]") {
  flow_world world;
  world.route("a", {.context_tokens = 100});
  world.route("b", {.context_tokens = 101});
  driven_flow flow{world, {.estimated_tokens = 101}};
  CHECK(flow.begin() == texts{"start b"});
  CHECK(world.events.lines("fallback") == texts{"fallback a>b context_length"});
  CHECK(routes_of(flow.it) == texts{"a context_length"});
}

TEST_CASE("no route left for its context window alone is context_length_exceeded [B7]") {
  for (const int routes : {1, 2}) {
    flow_world world;
    for (int i = 0; i < routes; ++i)
      world.route(std::string(1, static_cast<char>('a' + i)), {.context_tokens = 100});
    driven_flow flow{world, {.estimated_tokens = 101}};
    CHECK(flow.begin() == texts{"finish context_length_exceeded 400"});
  }
}

TEST_CASE("one route too small and another refused is exhausted, not context_length_exceeded [B7]") {
  flow_world world;
  world.route("a", {.context_tokens = 100});
  world.route("b", {.max_concurrency = 0});
  driven_flow flow{world, {.estimated_tokens = 101}};
  CHECK(flow.begin() == texts{"finish fallback_exhausted 503"});
}
