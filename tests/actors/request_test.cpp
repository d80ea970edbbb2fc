#include "request_fixture.hpp"

using namespace switchyard;
using namespace switchyard::test;

TEST_CASE_METHOD(request_fixture,
                 "a request walks from a failure through its retry to the next route's answer [R1, B3, H4]") {
  route("a", {.max_attempts = 2, .base_delay = 100ms});
  route("b");
  const auto r = submit();
  CHECK(*provider().request(0).body == "to m-a");
  CHECK(provider().request(0).path == "/chat/completions");
  end(http_error(500, failure_class::server_error));
  pass(100ms);
  REQUIRE(provider().calls() == 2);
  end(lost_connection());
  REQUIRE(provider(1).calls() == 1);
  end(answer_of("hello"), 1);

  check_done(r);
  CHECK(r.result().ok());
  CHECK(r.result().content->body == "hello");
  CHECK(r.result().served.route == "b");
  CHECK(r.result().attempts == 3);
  CHECK(r.result().fallbacks == 1);
  CHECK(r.result().trail.size() == 2);
  const auto written = queue->pop();
  REQUIRE(written);
  CHECK(written->attempts.size() == 3);
}

TEST_CASE_METHOD(request_fixture, "a provider's error reaches the caller unchanged, with its Retry-After [B3]") {
  route("a", {.max_attempts = 1});
  const auto r = submit();
  auto limited = http_error(429, failure_class::rate_limit);
  limited.headers.add("Retry-After", "7");
  end(std::move(limited));
  check_done(r);
  CHECK(r.result().what == request_result::kind::provider_error);
  CHECK(r.result().content->status == 429);
  CHECK(r.result().content->headers.find("Retry-After") == "7");
  CHECK(r.result().retry_after == 7s);
}

TEST_CASE_METHOD(request_fixture, "a request with a key is stored before it is answered, and replayed [I4, I5]") {
  route("a");
  const auto r = submit({.key = "k"});
  provider().end(answer_of("hello"));
  run();
  check_done(r);
  REQUIRE(store->stored("k"));
  CHECK(store->stored("k")->body == "hello");
  events.clear();
  const auto again = submit({.key = "k"});
  check_done(again);
  CHECK(again.result().ok());
  CHECK(again.result().replayed);
  CHECK(again.result().content->body == "hello");
  CHECK(again.result().attempts == 0);
  CHECK(provider().calls() == 1);
}

TEST_CASE_METHOD(request_fixture, "simultaneous submits of a key are one call with equal answers [I4]") {
  route("a");
  std::vector<running> all;
  for (int i = 0; i < 20; ++i)
    all.push_back(submit({.key = "k"}));
  CHECK(provider().calls() == 1);
  end(answer_of("hello"));
  for (const auto& r : all) {
    REQUIRE(r.results->size() == 1);
    CHECK(r.result().content->body == "hello");
  }
  CHECK(events.records().size() == 20);
}

TEST_CASE_METHOD(request_fixture, "a leader that is killed answers, and the first joiner takes over [I7, C16]") {
  route("a");
  const auto leader = submit({.key = "k"});
  const auto joiner = submit({.key = "k"});
  kill(leader.actor);
  REQUIRE(leader.answered());
  CHECK(leader.result().code == errc::shutting_down);
  CHECK(provider().cancelled(0));
  REQUIRE(provider().calls() == 2);
  end(answer_of("hello"));
  CHECK(joiner.result().ok());
  CHECK(events.records().size() == 2);
  CHECK(slots_used() == 0);
}

TEST_CASE_METHOD(request_fixture, "a leader's failure reaches its joiners, the key is free again [I6]") {
  route("a", {.max_attempts = 1});
  const auto leader = submit({.key = "k"});
  const auto joiner = submit({.key = "k"});
  end(http_error(400, failure_class::client_error));
  CHECK(leader.result().content->status == 400);
  CHECK(joiner.result().content->status == 400);
  CHECK(joiner.result().attempts == 0);
  submit({.key = "k"});
  CHECK(provider().calls() == 2);
}

TEST_CASE_METHOD(request_fixture, "a store that fails is store_unavailable with a key and nothing without [I13]") {
  route("a");
  store->fail_find = true;
  const auto keyed = submit({.key = "k"});
  check_done(keyed);
  CHECK(keyed.result().code == errc::store_unavailable);
  submit();
  CHECK(provider().calls() == 1);
}

TEST_CASE_METHOD(request_fixture, "an unreachable shard is store_unavailable: missing, dead, or silent [I13]") {
  route("a");
  SECTION("missing") {
    environment->shards.clear();
  }
  SECTION("dead") {
    kill(environment->shards[0]->get());
  }
  SECTION("silent") {
    shard_is(own(system.spawn(deaf_shard)));
  }
  const auto r = submit({.key = "k"});
  pass(10s);
  check_done(r);
  CHECK(r.result().code == errc::store_unavailable);
  CHECK(provider().calls() == 0);
}

TEST_CASE_METHOD(request_fixture,
                 "a shard that dies before the answer is stored makes it store_unavailable [I5, I13]") {
  route("a");
  const auto r = submit({.key = "k"});
  kill(environment->shards[0]->get());
  end(answer_of("hello"));
  check_done(r);
  CHECK(r.result().code == errc::store_unavailable);
}

TEST_CASE_METHOD(request_fixture,
                 "a leader whose own time is over hands the lead on: its impatience is not the joiners' [I7, B8]") {
  route("a");
  const auto leader = submit({.key = "k", .timeout = 1s});
  const auto joiner = submit({.key = "k"});
  pass(1s);
  REQUIRE(leader.answered());
  CHECK(leader.result().code == errc::deadline_exceeded);
  REQUIRE_FALSE(joiner.answered());
  CHECK(provider().calls() == 2);
  end(answer_of("hello"));
  REQUIRE(joiner.answered());
  CHECK(joiner.result().ok());
  CHECK(joiner.result().attempts == 1);
}

TEST_CASE_METHOD(request_fixture, "joiners learn of their shard's death, and do not wait for their deadline [I13]") {
  route("a");
  const auto leader = submit({.key = "k"});
  const auto joiner = submit({.key = "k"});
  REQUIRE_FALSE(joiner.answered());
  kill(environment->shards[0]->get());
  REQUIRE(joiner.answered());
  CHECK(joiner.result().code == errc::store_unavailable);
  CHECK_FALSE(leader.answered()); // its call runs
}

TEST_CASE_METHOD(request_fixture, "the deadline ends a request while its breaker is silent [B8]") {
  route("a");
  open_half();
  circuit().set_breaker(own(system.spawn(deaf_breaker)));
  const auto r = submit({.timeout = 1s});
  pass(1s);
  REQUIRE(r.answered());
  CHECK(r.result().code == errc::deadline_exceeded);
}

TEST_CASE_METHOD(request_fixture, "the deadline ends a request while its shard is silent [B8]") {
  route("a");
  const auto r = submit({.key = "k", .timeout = 2s});
  const auto shard = environment->shards[0]->get();
  shard_is(own(system.spawn(deaf_shard)));
  end(answer_of("hello"));
  REQUIRE_FALSE(r.answered());
  pass(2s);
  REQUIRE(r.answered());
  CHECK(r.result().code == errc::deadline_exceeded);
  caf::anon_send_exit(shard, caf::exit_reason::user_shutdown);
}

TEST_CASE_METHOD(request_fixture, "an unreachable breaker refuses: missing, dead, or silent [B5, C14]") {
  route("a");
  open_half();
  const auto breaker = circuit().breaker();
  SECTION("missing") {
    circuit().set_breaker(breaker_actor{});
  }
  SECTION("dead") {
    kill(breaker);
  }
  SECTION("silent") {
    circuit().set_breaker(own(system.spawn(deaf_breaker)));
  }
  const auto r = submit();
  pass(2s);
  check_done(r);
  CHECK(r.result().code == errc::circuit_open);
  CHECK(events.lines("refused").size() == 1);
  circuit().set_breaker(breaker);
}

TEST_CASE_METHOD(request_fixture,
                 "of several requests at a half-open circuit one probes, and its answer closes it [C7, C8]") {
  route("a");
  open_half();
  const auto probe = submit();
  const auto refused = submit();
  CHECK(provider().calls() == 1);
  CHECK(refused.result().code == errc::circuit_open);
  end(answer_of("hello"));
  CHECK(probe.result().ok());
  CHECK(circuit().cell().state() == circuit_state::closed);
}
