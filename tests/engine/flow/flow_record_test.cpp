#include "driven_flow.hpp"

#include "support/catch.hpp"

using namespace switchyard;
using namespace switchyard::test;

TEST_CASE("a served request is one row with one row per attempt [H4]") {
  flow_world world;
  world.route("a", {.max_attempts = 2, .base_delay = 1s});
  world.route("b", {.price = price_settings{2.5, 10}});
  driven_flow flow{world};
  flow.begin();
  world.now += 2s;
  flow.fail(failure_class::server_error);
  flow.wait();
  world.now += 3s;
  flow.fail(failure_class::connection);
  world.now += 1s;
  flow.succeed({.input = 1'000'000, .output = 500'000});
  const auto record = flow.it.take_record();

  const auto& r = record.request;
  CHECK(r.request_id == "r1");
  CHECK(r.time == wall_start);
  CHECK(r.operation == "/v1/chat/completions");
  CHECK(r.tenant == "acme");
  CHECK(r.requested_route == "a");
  CHECK(r.route == "b");
  CHECK(r.provider == "p-b");
  CHECK(r.model == "m-b");
  CHECK(r.region == "eu");
  CHECK(r.success);
  CHECK_FALSE(r.failure);
  CHECK(r.code.empty());
  CHECK(r.status == 200);
  CHECK(r.latency == 7s);
  CHECK(r.attempts == 3);
  CHECK(r.fallbacks == 1);
  CHECK_FALSE(r.replayed);
  CHECK_FALSE(r.interrupted);
  CHECK(r.outcome_unknown); // the second attempt
  CHECK(r.tokens.input == 1'000'000u);
  REQUIRE(r.cost);
  CHECK(*r.cost == Approx(7.5));

  REQUIRE(record.attempts.size() == 3);
  const auto& first = record.attempts[0];
  CHECK(first.time == wall_start);
  CHECK(first.route == "a");
  CHECK(first.circuit == "p-a");
  CHECK(first.failure == failure_class::server_error);
  CHECK(first.status == 500);
  CHECK(first.latency == 2s);
  CHECK_FALSE(first.outcome_unknown);
  CHECK(record.attempts[1].time == wall_start + 3s);
  CHECK(record.attempts[1].outcome_unknown);
  CHECK(record.attempts[2].success);
  CHECK(record.attempts[2].tokens.output == 500'000u);
}

TEST_CASE("an unknown price or usage gives no cost, not 0 [U2]") {
  for (const bool priced : {true, false}) {
    flow_world world;
    route_options o;
    if (priced)
      o.price = price_settings{1, 1};
    world.route("a", o);
    driven_flow flow{world};
    flow.begin();
    flow.succeed(priced ? token_usage{} : token_usage{10, 10});
    CHECK_FALSE(flow.it.take_record().request.cost);
  }
}

TEST_CASE("a provider's error that ends the request is its row's status, served by that provider [H4]") {
  flow_world world;
  world.route("a");
  driven_flow flow{world};
  flow.begin();
  flow.fail(failure_class::auth);
  const auto record = flow.it.take_record();
  CHECK(record.request.status == 401);
  CHECK(record.request.failure == failure_class::auth);
  CHECK(record.request.route == "a");
  CHECK(record.request.code.empty());
  CHECK_FALSE(record.request.success);
}

TEST_CASE("a request that nobody was called for has a row, and no attempts [H4]") {
  flow_world world;
  const auto& a = world.route("a");
  world.trip(a);
  driven_flow flow{world};
  flow.begin();
  const auto record = flow.it.take_record();
  CHECK(record.attempts.empty());
  CHECK(record.request.route.empty());
  CHECK(record.request.code == "circuit_open");
  CHECK(record.request.status == 503);
  CHECK(record.request.failure == failure_class::circuit_open);
}

TEST_CASE("an attempt that was cut has a row of its own: it may have been charged [H4, R6]") {
  flow_world world;
  world.route("a");
  driven_flow flow{world, {.timeout = 5s}};
  flow.begin();
  flow.wait();
  const auto record = flow.it.take_record();
  REQUIRE(record.attempts.size() == 1);
  CHECK(record.attempts[0].failure == failure_class::deadline);
  CHECK(record.attempts[0].outcome_unknown);
  CHECK(record.request.code == "deadline_exceeded");
  CHECK(record.request.failure == failure_class::deadline);
  CHECK(record.request.outcome_unknown);
}

TEST_CASE("attempts, retries, fallbacks and calls are events, in order") {
  flow_world world;
  world.route("a", {.max_attempts = 2});
  world.route("b");
  driven_flow flow{world};
  flow.begin();
  flow.fail(failure_class::server_error);
  flow.wait();
  flow.fail(failure_class::server_error);
  flow.succeed();
  CHECK(world.events.lines() == texts{"attempt a server_error first", "attempt a server_error retry",
                                      "call p-a failure", "fallback a>b server_error", "attempt b success first",
                                      "call p-b success"});
}

TEST_CASE("a flow without observers runs the same") {
  flow_world world;
  world.route("a");
  flow_request r;
  r.chain = world.chain();
  request_flow flow{std::move(r), start, wall_start, nullptr};
  CHECK(flow.step(flow_input::begin{}, start).size() == 1);
  flow_input::attempt_done done;
  done.status = 200;
  flow.step(done, start);
  CHECK(flow.done());
}

TEST_CASE("every code has a name of its own and a status") {
  std::vector<std::string_view> names;
  for (int i = 1; i <= static_cast<int>(errc::cancelled); ++i) {
    const auto code = static_cast<errc>(i);
    names.push_back(to_string(code));
    CHECK(http_status(code) >= 400);
  }
  CHECK(names.front() == "invalid_request");
  CHECK(names.back() == "cancelled");
  std::ranges::sort(names);
  CHECK(std::ranges::adjacent_find(names) == names.end());
  CHECK(to_string(static_cast<errc>(200)) == "unknown");
}
