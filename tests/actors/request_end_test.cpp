#include "request_fixture.hpp"

using namespace switchyard;
using namespace switchyard::test;

TEST_CASE_METHOD(request_fixture, "a caller that leaves ends its attempt, and everything comes back [U4, C16]") {
  route("a");
  const auto r = submit();
  cancel(r);
  check_done(r);
  CHECK(r.result().code == errc::cancelled);
  CHECK(provider().cancelled(0));
  CHECK(figures().consecutive_failures == 0);
}

TEST_CASE_METHOD(request_fixture, "a caller that leaves in a backoff ends it, and the real error counts [R3]") {
  route("a");
  const auto r = submit();
  end(lost_connection());
  cancel(r);
  check_done(r);
  CHECK(figures().consecutive_failures == 1);
  pass(60s);
  CHECK(provider().calls() == 1);
}

TEST_CASE_METHOD(request_fixture, "a caller that leaves while its probe is asked for gives the probe back [C8, C16]") {
  route("a");
  open_half();
  running r;
  auto runner = std::make_unique<request_runner>(
      spec({}), environment, [results = r.results](result_ptr x) { results->push_back(std::move(x)); }, now());
  r.actor = spawn_request(system, std::move(runner));
  caf::anon_send(r.actor, begin_request{});
  caf::anon_send(r.actor, cancel_request{}); // handled before the breaker's answer
  run();
  check_done(r);
  CHECK(r.result().code == errc::cancelled);
  CHECK(provider().calls() == 0);
  CHECK(figures().probes_in_flight == 0);
}

TEST_CASE_METHOD(request_fixture, "a joiner that leaves affects nobody [I7]") {
  route("a");
  const auto leader = submit({.key = "k"});
  const auto joiner = submit({.key = "k"});
  cancel(joiner);
  CHECK(joiner.result().code == errc::cancelled);
  end(answer_of("hello"));
  CHECK(leader.result().ok());
  CHECK(joiner.results->size() == 1);
}

TEST_CASE_METHOD(request_fixture, "a leader whose client leaves runs on, so the retry finds the answer [I7]") {
  route("a");
  const auto leader = submit({.key = "k"});
  cancel(leader);
  CHECK_FALSE(leader.answered());
  end(answer_of("hello"));
  CHECK(leader.result().ok());
  CHECK(submit({.key = "k"}).result().replayed);
}

TEST_CASE_METHOD(request_fixture, "shutdown ends a request in every phase [U4, C16]") {
  route("a");
  request_options o;
  bool settles = false;
  SECTION("attempting") {}
  SECTION("backing off") {
    const auto r = submit();
    end(lost_connection());
    cancel(r, true);
    check_done(r);
    return;
  }
  SECTION("leading") {
    o.key = "k";
    settles = true;
  }
  const auto r = submit(o);
  cancel(r, true);
  check_done(r);
  CHECK(r.result().code == errc::shutting_down);
  CHECK(provider().cancelled(0));
  if (settles)
    CHECK(ask<std::uint64_t>(environment->shards[0]->get(), count_keys{}) == 0);
}

TEST_CASE_METHOD(request_fixture,
                 "a request that is killed still answers, writes its row and gives everything back [C16, H4]") {
  route("a");
  SECTION("attempting") {
    const auto r = submit();
    kill(r.actor);
    check_done(r);
    CHECK(provider().cancelled(0));
  }
  SECTION("backing off") {
    const auto r = submit();
    end(lost_connection());
    kill(r.actor);
    check_done(r);
    CHECK(figures().consecutive_failures == 1);
  }
  SECTION("probing") {
    open_half();
    const auto r = submit();
    kill(r.actor);
    check_done(r);
    CHECK(figures().probes_in_flight == 0);
  }
  SECTION("reserving") {
    shard_is(own(system.spawn(deaf_shard)));
    const auto r = submit({.key = "k"});
    kill(r.actor);
    check_done(r);
  }
  SECTION("joined") {
    submit({.key = "k"});
    const auto r = submit({.key = "k"});
    kill(r.actor);
    CHECK(r.results->size() == 1);
    CHECK(events.records().size() == 1);
  }
  SECTION("leading") {
    const auto r = submit({.key = "k"});
    kill(r.actor);
    check_done(r);
    CHECK(ask<std::uint64_t>(environment->shards[0]->get(), count_keys{}) == 0);
  }
  SECTION("settling") {
    const auto r = submit({.key = "k"});
    shard_is(own(system.spawn(deaf_shard)));
    end(answer_of("hello"));
    REQUIRE_FALSE(r.answered());
    kill(r.actor);
    check_done(r);
  }
  SECTION("before it began") {
    running r;
    spawn_request(system, std::make_unique<request_runner>(
                              spec({}), environment,
                              [results = r.results](result_ptr x) { results->push_back(std::move(x)); }, now()));
    run();
    check_done(r); // nobody holds it, so it ends
  }
}

TEST_CASE_METHOD(request_fixture, "the deadline ends an attempt, and a late word of it changes nothing [B8, F3]") {
  route("a");
  const auto r = submit({.key = {}, .timeout = 5s});
  const auto listener = provider().listener_of(0);
  pass(5s);
  check_done(r);
  CHECK(r.result().code == errc::deadline_exceeded);
  CHECK(provider().cancelled(0));
  listener->on_attempt_done(answer_of("late"));
  run();
  check_done(r);
}

TEST_CASE_METHOD(request_fixture, "a late word of a cut attempt is no answer while the key is being settled [F3, I6]") {
  route("a");
  const auto r = submit({.key = "k", .timeout = 5s});
  shard_is(own(system.spawn(deaf_shard)));
  const auto listener = provider().listener_of(0);
  pass(5s);
  REQUIRE_FALSE(r.answered());
  listener->on_attempt_done(answer_of("late"));
  run();
  pass(10s);
  check_done(r);
  CHECK(r.result().code == errc::deadline_exceeded);
  CHECK(r.result().content == nullptr);
}

TEST_CASE_METHOD(request_fixture, "a late word of an earlier attempt does not end the retry [F3]") {
  route("a", {.base_delay = 100ms});
  const auto r = submit();
  const auto listener = provider().listener_of(0);
  end(lost_connection());
  listener->on_attempt_done(answer_of("twice")); // in the backoff
  run();
  CHECK_FALSE(r.answered());
  pass(100ms);
  REQUIRE(provider().calls() == 2);
  listener->on_attempt_done(answer_of("twice"));
  run();
  CHECK_FALSE(r.answered());
  end(answer_of("hello"));
  CHECK(r.result().content->body == "hello");
  CHECK(r.result().attempts == 2);
}

TEST_CASE_METHOD(request_fixture, "whether bytes have come decides what a cut attempt was [F2]") {
  for (const bool responded : {true, false}) {
    where = std::make_shared<topology>();
    providers.clear();
    events.clear();
    route("a");
    const auto r = submit({.key = {}, .timeout = 12s});
    if (responded)
      provider().respond(0);
    pass(12s);
    check_done(r);
    CHECK(figures().consecutive_failures == (responded ? 0u : 1u));
  }
}

TEST_CASE_METHOD(request_fixture, "the actor can take over a request that waits, and it may end at once") {
  route("a");
  open_half();
  for (const bool reachable : {true, false}) {
    events.clear();
    running r;
    auto runner = std::make_unique<request_runner>(
        spec({}), environment, [results = r.results](result_ptr x) { results->push_back(std::move(x)); }, now());
    const auto wish = runner->feed(flow_input::begin{}, now(), [] { return std::shared_ptr<attempt_listener>{}; });
    REQUIRE(std::holds_alternative<runner_wish::breaker>(wish));
    const auto breaker = circuit().breaker();
    if (!reachable)
      circuit().set_breaker(breaker_actor{});
    r.actor = spawn_request(system, std::move(runner), wish);
    run();
    if (reachable)
      end(answer_of("hello"));
    check_done(r);
    CHECK(r.result().ok() == reachable);
    circuit().set_breaker(breaker);
    if (reachable)
      open_half();
  }
}

TEST_CASE_METHOD(request_fixture, "a call that hangs is reported at its slow limit by the actor's timer [C17]") {
  route_options o;
  o.profile.consecutive_failures = 100;
  window_settings w;
  w.minimum_calls = 1;
  w.slow_call_rate = 1.0;
  w.slow_call_after = 10s;
  o.profile.window = w;
  route("a", o);
  submit();
  pass(duration{10s} - 1ns);
  CHECK(circuit().cell().state() == circuit_state::closed);
  pass(1ns);
  CHECK(circuit().cell().state() == circuit_state::open);
}

namespace {

class throwing_provider final : public provider {
public:
  std::shared_ptr<attempt_handle> start(provider_request, std::shared_ptr<attempt_listener>) override { throw 5; }
};

} // namespace

TEST_CASE_METHOD(request_fixture, "a provider that throws what is no exception has failed, also for who joined [I6]") {
  route("a");
  where->providers[0] = std::make_shared<throwing_provider>();
  const auto leader = prepare(spec({.key = "k"})), joiner = prepare(spec({.key = "k"}));
  run();
  for (int i = 0; i < 5; ++i)
    pass(1s); // the leader's retries
  for (const auto& r : {leader, joiner}) {
    REQUIRE(r.results->size() == 1);
    CHECK(r.result().code == errc::upstream_connection);
  }
  CHECK_FALSE(log.empty());
}

TEST_CASE_METHOD(request_fixture, "a provider that throws at every request flooded the log") {
  route("a");
  where->providers[0] = std::make_shared<throwing_provider>();
  for (int i = 0; i < 3; ++i) {
    submit();
    for (int n = 0; n < 3; ++n)
      pass(1s); // its retries
  }
  REQUIRE(log.size() == 1);
  CHECK(log[0].second ==
        "provider p-a cannot start an attempt: it threw something that is no std::exception, request r1");
  pass(1min);
  submit();
  REQUIRE(log.size() == 2);
  CHECK(log[1].second.find(", request r1 (8 more since the last such line)") != std::string::npos);
}
