#include "driven_flow.hpp"

#include "support/catch.hpp"

using namespace switchyard;
using namespace switchyard::test;
using kind = flow_input::key_verdict::kind;

namespace {

flow_input::attempt_done broken(failure_class f, std::optional<transport_error> error = {}, token_usage tokens = {}) {
  flow_input::attempt_done done;
  done.failure = f;
  done.error = error;
  done.sent = true;
  done.tokens = tokens;
  return done;
}

} // namespace

TEST_CASE("a stream flows from its first content, and holds permit and slot to its end [S3]") {
  flow_world world;
  const auto& a = world.route("a");
  world.trip(a);
  world.cool_down(a);
  driven_flow flow{world, {.stream = true}};
  REQUIRE(flow.begin() == texts{"ask a"});
  REQUIRE(flow.feed(flow_input::breaker_verdict{world.ask(a)}) == texts{"start a"});
  CHECK(flow.feed(flow_input::content_begun{200}) == texts{"wake a", "flow"});
  CHECK(a.slots->used() == 1);
  CHECK(world.drain(a).snapshot(world.now).probes_in_flight == 1);
  CHECK(flow.succeed({10, 20}) == texts{"wake a", "finish answer"});
  CHECK(a.slots->used() == 0);
  CHECK(world.drain(a).state() == circuit_state::closed);
}

TEST_CASE("a probe's lease runs to the first content of its stream, however long that flows [C8]") {
  flow_world world;
  const auto& a = world.route("a");
  world.trip(a);
  world.cool_down(a);
  driven_flow flow{world, {.stream = true}};
  flow.begin();
  flow.feed(flow_input::breaker_verdict{world.ask(a)});
  CHECK(flow.feed(flow_input::content_begun{200}) == texts{"wake a", "flow"});
  world.drain(a);
  world.now += 1h;
  CHECK(world.drain(a).state() == circuit_state::half_open);
  flow.succeed();
  CHECK(world.drain(a).state() == circuit_state::closed);
  CHECK(world.breaker(a).snapshot(world.now).refused_reports == 0);
}

TEST_CASE("a client that leaves when the provider has failed already does not hide that [S2, C4]") {
  flow_world world;
  const auto& a = world.route("a");
  driven_flow flow{world, {.stream = true}};
  flow.begin();
  flow.feed(flow_input::content_begun{200});
  flow_input::cancel left;
  left.attempt.ended = true;
  left.attempt.failure = failure_class::connection;
  CHECK(flow.feed(left).back() == "finish cancelled 499");
  CHECK(world.drain(a).snapshot(world.now).consecutive_failures == 1);
  CHECK(a.slots->used() == 0);
}

TEST_CASE("before the first content a stream is retried and falls over like any request [S1]") {
  flow_world world;
  world.route("a", {.max_attempts = 2});
  world.route("b");
  driven_flow flow{world, {.stream = true}};
  flow.begin();
  flow.feed(broken(failure_class::soft_failure));
  CHECK(flow.wait() == texts{"start a"});
  CHECK(flow.feed(broken(failure_class::empty_response)).back() == "start b");
  CHECK(flow.feed(flow_input::content_begun{200}) == texts{"flow"});
  CHECK(flow.succeed().back() == "finish answer");
  CHECK(flow.it.attempts() == 3);
}

TEST_CASE("after the first content no other provider is asked, and the break counts as a failure [S2, C1]") {
  const auto [f, error, code] = GENERATE(table<failure_class, std::optional<transport_error>, std::string>({
      {failure_class::connection, transport_error::reset, "upstream_cut"},
      {failure_class::connection, std::nullopt, "upstream_cut"}, // a clean end without the stream's own
      {failure_class::timeout, transport_error::idle_timeout, "upstream_stalled"},
      {failure_class::timeout, transport_error::stream_timeout, "upstream_cut"},
      {failure_class::soft_failure, std::nullopt, "upstream_invalid"},
      {failure_class::connection, transport_error::malformed_http, "upstream_invalid"},
  }));
  flow_world world;
  const auto& a = world.route("a");
  world.route("b");
  driven_flow flow{world, {.stream = true}};
  flow.begin();
  flow.feed(flow_input::content_begun{200});
  CHECK(flow.feed(broken(f, error)).back() == "finish " + code + " 502");
  CHECK(flow.starts == 1);
  CHECK(world.drain(a).snapshot(world.now).consecutive_failures == 1);
  CHECK(a.slots->used() == 0);
  const auto record = flow.it.take_record();
  CHECK(record.request.code == code);
  CHECK(record.request.status == 200); // what the client got
  CHECK(record.request.provider == "p-a");
}

TEST_CASE("a stream that its receiver takes no more of is cancelled, and nobody's failure [S4]") {
  flow_world world;
  const auto& a = world.route("a");
  driven_flow flow{world, {.stream = true}};
  flow.begin();
  flow.feed(flow_input::content_begun{200});
  CHECK(flow.feed(broken(failure_class::cancelled, transport_error::cancelled)).back() == "finish cancelled 499");
  CHECK(world.drain(a).snapshot(world.now).consecutive_failures == 0);
}

TEST_CASE("the deadline runs to the first content chunk [B8]") {
  flow_world world;
  world.route("a");
  driven_flow flow{world, {.timeout = 5s, .stream = true}};
  flow.begin();
  CHECK(flow.it.wake_at() == world.now + 5s);
  SECTION("and ends the request before it") {
    CHECK(flow.wait() == texts{"stop", "finish deadline_exceeded 504"});
  }
  SECTION("and not after it") {
    flow.feed(flow_input::content_begun{200});
    CHECK(flow.it.wake_at() == std::nullopt);
    world.now += 1h;
    CHECK(flow.timer() == texts{});
    CHECK(flow.succeed().back() == "finish answer");
  }
}

TEST_CASE("a stream's time for the slow limit runs to its first content chunk [C1]") {
  for (const auto& [first, slow] : {std::pair{1s, false}, std::pair{3s, true}}) {
    circuit_settings profile;
    profile.window.emplace();
    profile.window->slow_call_rate = 1.0;
    profile.window->slow_call_after = 2s;
    flow_world world;
    const auto& a = world.route("a", {.profile = profile});
    driven_flow flow{world, {.stream = true}};
    flow.begin();
    world.now += first;
    flow.feed(flow_input::content_begun{200});
    world.now += 1h;
    flow.succeed();
    world.drain(a);
    CHECK(world.events.lines("call") == texts{slow ? "call p-a slow_success" : "call p-a success"});
  }
}

TEST_CASE("a client that leaves its stream ends the attempt, and what it got is recorded once [S4, U2]") {
  flow_world world;
  const auto& a = world.route("a");
  driven_flow flow{world, {.stream = true}};
  flow.begin();
  world.now += 2s;
  flow.feed(flow_input::content_begun{200});
  world.now += 3s;
  CHECK(flow.feed(flow_input::cancel{false, {.tokens = {7, 8, true}}}) == texts{"stop", "finish cancelled 499"});
  CHECK(world.drain(a).snapshot(world.now).consecutive_failures == 0);
  CHECK(a.slots->used() == 0);
  const auto record = flow.it.take_record();
  CHECK(record.request.tokens.input == 7u);
  CHECK(record.request.tokens.output == 8u);
  CHECK(record.request.tokens.estimated);
  CHECK(record.request.time_to_first_token == 2s);
  CHECK_FALSE(record.request.outcome_unknown); // it is known how far it came
  REQUIRE(record.attempts.size() == 1);
  CHECK(record.attempts[0].tokens.output == 8u);
  CHECK(record.attempts[0].time_to_first_token == 2s);
}

TEST_CASE("a client that leaves its keyed stream releases the key, wherever it is [I9, S4]") {
  flow_world world;
  world.route("a");
  driven_flow flow{world, {.keyed = true, .stream = true}};
  flow.begin();
  flow.verdict(kind::lead);
  SECTION("while it flows") {
    flow.feed(flow_input::content_begun{200});
  }
  SECTION("before its first content") {}
  SECTION("between two attempts") {
    flow.fail(failure_class::server_error);
  }
  CHECK(flow.cancel().back() == "settle failure");
  CHECK(flow.feed(flow_input::key_settled{}) == texts{"finish cancelled 499"});
}

TEST_CASE("the end of a keyed stream waits for no store: it is not stored [I9]") {
  flow_world world;
  world.route("a");
  driven_flow flow{world, {.timeout = 5s, .keyed = true, .stream = true}};
  flow.begin();
  flow.verdict(kind::lead);
  flow.feed(flow_input::content_begun{200});
  world.now += 1min; // beyond the deadline
  REQUIRE(flow.succeed().back() == "settle success");
  SECTION("the shard is silent") {
    CHECK(flow.timer() == texts{"finish answer"});
  }
  SECTION("the lead was lost") {
    CHECK(flow.feed(flow_input::key_settled{false}) == texts{"finish answer"});
  }
}

TEST_CASE("shutdown ends a stream [U4]") {
  flow_world world;
  const auto& a = world.route("a");
  driven_flow flow{world, {.stream = true}};
  flow.begin();
  flow.feed(flow_input::content_begun{200});
  CHECK(flow.cancel(true) == texts{"stop", "finish shutting_down 503"});
  CHECK(a.slots->used() == 0);
}

TEST_CASE("a content_begun that comes late changes nothing") {
  flow_world world;
  world.route("a", {.max_attempts = 1});
  driven_flow flow{world, {.stream = true}};
  SECTION("before the beginning") {
    CHECK(flow.feed(flow_input::content_begun{200}) == texts{});
    CHECK(flow.begin() == texts{"start a"});
  }
  SECTION("after the end") {
    flow.begin();
    flow.fail(failure_class::server_error);
    CHECK(flow.feed(flow_input::content_begun{200}) == texts{});
  }
}
