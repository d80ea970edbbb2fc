#include "driven_flow.hpp"

#include "support/catch.hpp"

using namespace switchyard;
using namespace switchyard::test;

TEST_CASE("a static route answers at once, without a call") {
  flow_world world;
  world.route("fixed", {.circuit = false}).is_static = true;
  driven_flow flow(world);
  CHECK(flow.begin() == texts{"finish static"});
  CHECK(flow.it.attempts() == 0);
  const auto record = flow.it.take_record();
  CHECK(record.attempts.empty());
  CHECK(record.request.success);
  CHECK(record.request.status == 200);
  CHECK(record.request.route == "fixed");
  CHECK_FALSE(record.request.cost); // nobody charged anything
}

TEST_CASE("as the last route a static answer counts the routes left behind and the calls made [R5]") {
  flow_world world;
  world.route("a");
  world.route("fixed", {.circuit = false}).is_static = true;
  driven_flow flow(world, {.budgeted = true});
  CHECK(flow.begin() == texts{"budget"});
  CHECK(flow.feed(flow_input::budget_verdict{flow_input::budget_verdict::kind::admitted, {}}) == texts{"start a"});
  CHECK(flow.fail(failure_class::timeout) ==
        texts{"wake a", "refund", "finish static"}); // its own answer costs nothing [U1]
  CHECK(flow.it.attempts() == 1);
  CHECK(flow.it.fallbacks() == 1);
  const auto record = flow.it.take_record();
  CHECK(record.attempts.size() == 1);
  CHECK(record.request.provider == world.chain().back()->provider);
}

TEST_CASE("a static answer is not kept by the cache, and what failed before is no failure of the request [U3]") {
  flow_world world;
  world.route("fixed", {.circuit = false}).is_static = true;
  driven_flow flow(world, {.cacheable = true});
  CHECK(flow.begin() == texts{"look up"});
  flow_input::cache_verdict lead;
  lead.what = flow_input::cache_verdict::kind::lead;
  CHECK(flow.feed(lead) == texts{"cache pass", "finish static"});
  CHECK_FALSE(flow.it.result_class());
}

TEST_CASE("a static route does not answer who has left, nor after the deadline [B8]") {
  flow_world world;
  world.route("a");
  world.route("fixed", {.circuit = false}).is_static = true;
  driven_flow flow(world, {.timeout = 1s});
  flow.begin();
  world.now += 1s;
  CHECK(flow.timer().back() == "finish deadline_exceeded 504");
}
