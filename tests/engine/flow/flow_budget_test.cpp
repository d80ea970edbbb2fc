#include "driven_flow.hpp"

#include "support/catch.hpp"

using namespace switchyard;
using namespace switchyard::test;
using kind = flow_input::budget_verdict::kind;

TEST_CASE("a budget is asked once, before the first route, and charged with the real figure [U1]") {
  flow_world world;
  world.route("a", {.max_attempts = 1, .price = price_settings{2, 10}});
  world.route("b", {.price = price_settings{1'000'000, 2'000'000}});
  driven_flow flow{world, {.budgeted = true}};
  CHECK(flow.begin() == texts{"budget"});
  CHECK(flow.budget(kind::admitted) == texts{"start a"});
  CHECK(flow.fail(failure_class::server_error) == texts{"wake a", "start b"}); // not asked again
  CHECK(flow.succeed({.input = 3, .output = 4}) == texts{"charge 1 7", "finish answer"});
  CHECK(flow.budget_settled.at(0)->cost == 3 + 8); // at the price of who served
}

TEST_CASE("without a word of the provider the estimate stands [U1]") {
  flow_world world;
  world.route("a", {.price = price_settings{1'000'000, 2'000'000}});
  driven_flow flow{world, {.budgeted = true, .estimated_tokens = 100, .estimated_input_tokens = 40}};
  flow.begin();
  flow.budget(kind::admitted);
  CHECK(flow.succeed() == texts{"charge 1 100", "finish answer"});
  CHECK(flow.budget_settled.at(0)->cost == 40 + 120);
  CHECK_FALSE(flow.it.take_record().request.cost); // which is no figure of the log
}

TEST_CASE("a used-up budget ends the request before any call, with the wait to its window's end [U1]") {
  flow_world world;
  world.route("a");
  driven_flow flow{world, {.budgeted = true}};
  flow.begin();
  CHECK(flow.budget(kind::refused, 90s) == texts{"finish budget_exceeded 429"});
  CHECK(flow.finished.at(0).retry_after == 90s);
  const auto record = flow.it.take_record();
  CHECK(record.request.failure == failure_class::budget);
  CHECK(record.attempts.empty());
}

TEST_CASE("whatever is no success is refunded [U1]") {
  flow_world world;
  world.route("a", {.max_attempts = 1});
  driven_flow flow{world, {.timeout = 5s, .budgeted = true}};
  flow.begin();
  SECTION("failure") {
    flow.budget(kind::admitted);
    CHECK(flow.fail(failure_class::server_error) == texts{"wake a", "refund", "finish provider_error"});
  }
  SECTION("the caller leaves") {
    flow.budget(kind::admitted);
    CHECK(flow.cancel() == texts{"stop", "refund", "finish cancelled 499"});
  }
  SECTION("the deadline") {
    flow.budget(kind::admitted);
    world.now += 5s;
    CHECK(flow.timer() == texts{"stop", "refund", "finish deadline_exceeded 504"});
  }
  SECTION("the caller has left before the answer") {
    CHECK(flow.cancel().empty());
    CHECK(flow.budget(kind::admitted) == texts{"refund", "finish cancelled 499"});
  }
}

TEST_CASE("a reservation whose answer never comes is given back all the same [U1]") {
  flow_world world;
  world.route("a");
  driven_flow flow{world, {.timeout = 5s, .budgeted = true}};
  flow.begin();
  SECTION("at the deadline") {
    CHECK(flow.wait() == texts{"refund", "finish deadline_exceeded 504"});
  }
  SECTION("when the budgets are taken for gone") {
    CHECK(flow.budget(kind::unavailable) == texts{"refund", "finish overloaded 503"});
  }
}

TEST_CASE("a stream is charged as far as it came, also when it breaks off or its caller leaves [U1, S4]") {
  flow_world world;
  world.route("a");
  driven_flow flow{world, {.stream = true, .budgeted = true}};
  flow.begin();
  flow.budget(kind::admitted);
  flow.feed(flow_input::content_begun{200});
  SECTION("the caller leaves") {
    flow_input::cancel left;
    left.attempt.tokens = {.input = 10, .output = 2, .estimated = true};
    CHECK(flow.feed(left) == texts{"stop", "charge 1 12", "finish cancelled 499"});
  }
  SECTION("a cut") {
    flow_input::attempt_done cut;
    cut.failure = failure_class::connection;
    cut.error = transport_error::reset;
    cut.tokens = {.input = 10, .output = 3, .estimated = true};
    CHECK(flow.feed(cut) == texts{"wake a", "charge 1 13", "finish upstream_cut 502"});
  }
}

TEST_CASE("a replay asks no budget [I8]") {
  flow_world world;
  world.route("a");
  driven_flow flow{world, {.keyed = true, .budgeted = true}};
  flow.begin();
  CHECK(flow.verdict(flow_input::key_verdict::kind::answered) == texts{"finish joined"});
}
