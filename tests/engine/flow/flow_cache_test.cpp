#include "driven_flow.hpp"

#include "support/catch.hpp"

using namespace switchyard;
using namespace switchyard::test;
using kind = flow_input::cache_verdict::kind;

TEST_CASE("a cached answer makes no call, and its row says cached [U3, H4]") {
  flow_world world;
  world.route("a");
  driven_flow flow{world, {.cacheable = true, .budgeted = true}};
  CHECK(flow.begin() == texts{"look up"});
  CHECK(flow.cache(kind::answered) == texts{"finish joined"});
  const auto row = flow.it.take_record().request;
  CHECK(row.cached);
  CHECK(row.success);
  CHECK(row.status == 200);
  CHECK(row.attempts == 0);
  CHECK_FALSE(row.replayed);
}

TEST_CASE("the leader's answer is kept in the cache, a fallback's is only shared [U3]") {
  flow_world world;
  world.route("a", {.max_attempts = 1});
  world.route("b");
  SECTION("of the first route") {
    driven_flow flow{world, {.cacheable = true}};
    flow.begin();
    CHECK(flow.cache(kind::lead) == texts{"start a"});
    CHECK(flow.succeed() == texts{"cache keep", "finish answer"});
  }
  SECTION("of a fallback") {
    driven_flow flow{world, {.cacheable = true}};
    flow.begin();
    flow.cache(kind::lead);
    CHECK(flow.fail(failure_class::server_error) == texts{"wake a", "start b"});
    CHECK(flow.succeed() == texts{"cache pass", "finish answer"});
  }
}

TEST_CASE("the key comes before the cache, the cache before the budget, the budget before the routes") {
  flow_world world;
  world.route("a");
  driven_flow flow{world, {.keyed = true, .cacheable = true, .budgeted = true}};
  CHECK(flow.begin() == texts{"reserve"});
  CHECK(flow.verdict(flow_input::key_verdict::kind::lead) == texts{"look up"});
  CHECK(flow.cache(kind::lead) == texts{"budget"});
  CHECK(flow.budget(flow_input::budget_verdict::kind::admitted) == texts{"start a"});
  CHECK(flow.succeed({.input = 7, .output = 5}) == texts{"charge 1 12", "cache keep", "settle success"});
  CHECK(flow.feed(flow_input::key_settled{}) == texts{"finish answer"});
}

TEST_CASE("a leader of a key that finds its answer in the cache stores it under the key, or is refused [I5, I13, U3]") {
  flow_world world;
  world.route("a");
  const bool stored = GENERATE(true, false);
  driven_flow flow{world, {.keyed = true, .cacheable = true}};
  flow.begin();
  flow.verdict(flow_input::key_verdict::kind::lead);
  CHECK(flow.cache(kind::answered) == texts{"settle success"});
  CHECK(flow.feed(flow_input::key_settled{stored}) == texts{stored ? "finish joined" : "finish store_unavailable 503"});
}

TEST_CASE("when every route has failed an expired answer is served, with what was tried [U3]") {
  flow_world world;
  const auto& a = world.route("a", {.max_attempts = 1});
  world.route("b", {.max_attempts = 1});
  driven_flow flow{world, {.cacheable = true, .budgeted = true}};
  flow.begin();
  flow.cache(kind::lead, true);
  flow.budget(flow_input::budget_verdict::kind::admitted);
  CHECK(flow.fail(failure_class::timeout) == texts{"wake a", "start b"});
  CHECK(flow.fail(failure_class::server_error) == texts{"wake b", "refund", "cache pass", "finish stale"});
  CHECK(flow.it.trail().size() == 2);
  const auto record = flow.it.take_record();
  CHECK(record.request.cached);
  CHECK(record.request.success);
  CHECK(record.request.status == 200);
  CHECK(record.request.attempts == 2);
  CHECK(record.request.code.empty());
  CHECK(record.attempts.size() == 2);
  CHECK(world.drain(a).snapshot(world.now).consecutive_failures == 1); // the provider's failure all the same
}

TEST_CASE("an expired answer serves where the deadline ends the walk, or every circuit refuses [U3, B5]") {
  flow_world world;
  const auto& a = world.route("a");
  SECTION("deadline") {
    driven_flow flow{world, {.timeout = 1s, .cacheable = true}};
    flow.begin();
    flow.cache(kind::lead, true);
    world.now += 1s;
    CHECK(flow.timer() == texts{"stop", "cache pass", "finish stale"});
  }
  SECTION("open circuit") {
    world.trip(a);
    driven_flow flow{world, {.cacheable = true}};
    flow.begin();
    CHECK(flow.cache(kind::lead, true) == texts{"cache pass", "finish stale"});
    CHECK(flow.it.attempts() == 0);
  }
}

TEST_CASE("an expired answer does not hide what is wrong with the request, its budget or its caller [U3]") {
  flow_world world;
  world.route("a");
  driven_flow flow{world, {.cacheable = true, .budgeted = true}};
  flow.begin();
  flow.cache(kind::lead, true);
  SECTION("client error") {
    flow.budget(flow_input::budget_verdict::kind::admitted);
    CHECK(flow.fail(failure_class::client_error) == texts{"refund", "cache pass", "finish provider_error"});
  }
  SECTION("no budget") {
    CHECK(flow.budget(flow_input::budget_verdict::kind::refused, 5s) ==
          texts{"cache pass", "finish budget_exceeded 429"});
  }
  SECTION("shutdown") {
    flow.budget(flow_input::budget_verdict::kind::admitted);
    CHECK(flow.cancel(true) == texts{"stop", "refund", "cache pass", "finish shutting_down 503"});
  }
}

TEST_CASE("one that joined waits, and leaves without a trace [U3]") {
  flow_world world;
  world.route("a");
  SECTION("for the answer") {
    driven_flow flow{world, {.cacheable = true}};
    flow.begin();
    CHECK(flow.cache(kind::joined).empty());
    CHECK(flow.cache(kind::answered) == texts{"finish joined"});
  }
  SECTION("until it leads") {
    driven_flow flow{world, {.cacheable = true}};
    flow.begin();
    flow.cache(kind::joined);
    CHECK(flow.cache(kind::lead) == texts{"start a"});
  }
  SECTION("until its caller leaves") {
    driven_flow flow{world, {.cacheable = true}};
    flow.begin();
    flow.cache(kind::joined);
    CHECK(flow.cancel() == texts{"leave cache", "finish cancelled 499"});
  }
  SECTION("until its caller has left before it joined") {
    driven_flow flow{world, {.cacheable = true}};
    flow.begin();
    CHECK(flow.cancel().empty());
    CHECK(flow.cache(kind::joined) == texts{"leave cache", "finish cancelled 499"});
  }
  SECTION("until its deadline") {
    driven_flow flow{world, {.timeout = 1s, .cacheable = true}};
    flow.begin();
    flow.cache(kind::joined);
    CHECK(flow.wait() == texts{"leave cache", "finish deadline_exceeded 504"});
  }
  SECTION("as the leader of a key, though its caller leaves [I7]") {
    driven_flow flow{world, {.keyed = true, .cacheable = true}};
    flow.begin();
    flow.verdict(flow_input::key_verdict::kind::lead);
    flow.cache(kind::joined);
    CHECK(flow.cancel().empty());
    CHECK(flow.cache(kind::answered) == texts{"settle success"});
  }
}

TEST_CASE("a leader whose client leaves runs on for those who joined, and for the cache [U3]") {
  flow_world world;
  world.route("a");
  driven_flow flow{world, {.cacheable = true}};
  flow.begin();
  flow.cache(kind::lead);
  CHECK(flow.cancel().empty());
  CHECK(flow.succeed() == texts{"cache keep", "finish answer"});
}

TEST_CASE("a cache that does not answer is as if there were none [U3]") {
  flow_world world;
  world.route("a");
  driven_flow flow{world, {.cacheable = true}};
  flow.begin();
  CHECK(flow.cache(kind::unavailable) == texts{"start a"});
  CHECK(flow.succeed() == texts{"finish answer"});
}
