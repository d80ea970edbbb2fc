#include "driven_flow.hpp"

#include "support/catch.hpp"

using namespace switchyard;
using namespace switchyard::test;
using kind = flow_input::key_verdict::kind;

TEST_CASE("without a key nothing is reserved or settled [I1]") {
  flow_world world;
  world.route("a");
  driven_flow flow{world};
  CHECK(flow.begin() == texts{"start a"});
  CHECK(flow.succeed() == texts{"finish answer"});
}

TEST_CASE("a leader's success is settled before it is answered [I5]") {
  flow_world world;
  world.route("a");
  driven_flow flow{world, {.keyed = true}};
  CHECK(flow.begin() == texts{"reserve"});
  CHECK(flow.verdict(kind::lead) == texts{"start a"});
  CHECK(flow.succeed() == texts{"settle success"});
  CHECK_FALSE(flow.it.done());
  CHECK(flow.it.result().what == flow_action::finish::kind::answer);
  CHECK(flow.feed(flow_input::key_settled{}) == texts{"finish answer"});
}

TEST_CASE("a leader's success that could not be stored is store_unavailable [I13]") {
  flow_world world;
  world.route("a");
  driven_flow flow{world, {.keyed = true}};
  flow.begin();
  flow.verdict(kind::lead);
  flow.succeed();
  CHECK(flow.feed(flow_input::key_settled{false}) == texts{"finish store_unavailable 503"});
}

TEST_CASE("a leader's failure is settled as one, and surfaces whatever the store says [I6]") {
  flow_world world;
  world.route("a", {.max_attempts = 1});
  driven_flow flow{world, {.keyed = true}};
  flow.begin();
  flow.verdict(kind::lead);
  CHECK(flow.fail(failure_class::client_error) == texts{"settle failure"});
  CHECK(flow.feed(flow_input::key_settled{false}) == texts{"finish provider_error"});
}

TEST_CASE("a key that does not lead makes no call [I3, I4, I5, I9, I10, I13]") {
  const std::vector<std::pair<kind, std::string>> table = {
      {kind::conflict, "finish idempotency_key_reused 422"},
      {kind::in_flight, "finish idempotency_in_flight 409"},
      {kind::interrupted, "finish idempotency_interrupted 409"},
      {kind::unavailable, "finish store_unavailable 503"},
      {kind::answered, "finish joined"},
  };
  for (const auto& [what, expected] : table) {
    flow_world world;
    world.route("a");
    driven_flow flow{world, {.keyed = true}};
    flow.begin();
    CHECK(flow.verdict(what) == texts{expected});
    CHECK(flow.it.attempts() == 0);
    CHECK(world.events.lines() == texts{});
  }
}

TEST_CASE("idempotency_in_flight asks for a second of patience") {
  flow_world world;
  world.route("a");
  driven_flow flow{world, {.keyed = true}};
  flow.begin();
  flow.verdict(kind::in_flight);
  CHECK(flow.finished.at(0).retry_after == 1s);
}

TEST_CASE("a joined failure's row says what the leader's failure was [I6, H4]") {
  flow_world world;
  world.route("a");
  driven_flow flow{world, {.keyed = true}};
  flow.begin();
  flow.verdict(kind::joined);
  flow_input::key_verdict answered;
  answered.what = kind::answered;
  answered.status = 504;
  answered.failure = failure_class::timeout;
  answered.code = errc::upstream_timeout;
  flow.feed(answered);
  const auto record = flow.it.take_record();
  CHECK(record.request.failure == failure_class::timeout);
  CHECK(record.request.code == "upstream_timeout");
  CHECK(record.request.status == 504);
}

TEST_CASE("a joiner waits and gets the leader's answer without a call of its own [I4]") {
  flow_world world;
  const auto& a = world.route("a");
  driven_flow flow{world, {.keyed = true}};
  flow.begin();
  CHECK(flow.verdict(kind::joined) == texts{});
  CHECK(a.slots->used() == 0);
  flow_input::key_verdict answered;
  answered.what = kind::answered;
  answered.success = true;
  answered.status = 200;
  CHECK(flow.feed(answered) == texts{"finish joined"});
  const auto record = flow.it.take_record();
  CHECK(record.request.replayed);
  CHECK(record.request.success);
  CHECK(record.request.status == 200);
  CHECK(record.request.attempts == 0);
  CHECK_FALSE(record.request.cost);
}

TEST_CASE("a joiner whose leader failed or could not store gets the same [I6]") {
  for (const auto& [what, expected] : std::vector<std::pair<kind, std::string>>{
           {kind::answered, "finish joined"}, {kind::unavailable, "finish store_unavailable 503"}}) {
    flow_world world;
    world.route("a");
    driven_flow flow{world, {.keyed = true}};
    flow.begin();
    flow.verdict(kind::joined);
    CHECK(flow.verdict(what) == texts{expected});
    CHECK_FALSE(flow.it.take_record().request.success);
  }
}

TEST_CASE("a joiner that is promoted runs the request, retries included [I7]") {
  flow_world world;
  world.route("a");
  driven_flow flow{world, {.keyed = true}};
  flow.begin();
  flow.verdict(kind::joined);
  CHECK(flow.verdict(kind::lead) == texts{"start a"});
  flow.fail(failure_class::server_error);
  CHECK(flow.wait() == texts{"start a"});
  CHECK(flow.succeed() == texts{"settle success"});
}

TEST_CASE("a leader whose client leaves runs on to its end, retries and routes included [I7]") {
  flow_world world;
  world.route("a", {.max_attempts = 2});
  world.route("b");
  driven_flow flow{world, {.keyed = true}};
  flow.begin();
  flow.verdict(kind::lead);
  CHECK(flow.cancel() == texts{});
  flow.fail(failure_class::server_error);
  CHECK(flow.cancel() == texts{}); // in the backoff as well
  CHECK(flow.wait() == texts{"start a"});
  CHECK(flow.fail(failure_class::server_error) == texts{"wake a", "start b"});
  CHECK(flow.succeed() == texts{"settle success"});
  CHECK(flow.feed(flow_input::key_settled{}) == texts{"finish answer"});
}

TEST_CASE("a client that leaves before the shard has answered: a lead runs on, a joiner leaves [I7]") {
  for (const bool leads : {true, false}) {
    flow_world world;
    world.route("a");
    driven_flow flow{world, {.keyed = true}};
    flow.begin();
    CHECK(flow.cancel() == texts{});
    if (leads)
      CHECK(flow.verdict(kind::lead) == texts{"start a"});
    else
      CHECK(flow.verdict(kind::joined) == texts{"leave", "finish cancelled 499"});
  }
}

TEST_CASE("a rerun after a crash is marked in telemetry [I10]") {
  flow_world world;
  world.route("a");
  driven_flow flow{world, {.keyed = true}};
  flow.begin();
  flow_input::key_verdict lead;
  lead.rerun = true;
  flow.feed(lead);
  flow.succeed();
  flow.feed(flow_input::key_settled{});
  const auto record = flow.it.take_record();
  CHECK(record.request.interrupted);
  CHECK(record.request.outcome_unknown);
}
