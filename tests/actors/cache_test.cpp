#include "request_fixture.hpp"

#include "switchyard/actors/cache.hpp"

using namespace switchyard;
using namespace switchyard::test;

namespace {

cache_settings cached_for(duration ttl, duration stale = 0s) {
  cache_settings s;
  s.enabled = true;
  s.ttl = ttl;
  s.stale_if_error = stale;
  return s;
}

// Requests of one route with a cache in front.
class cache_fixture : public request_fixture {
public:
  explicit cache_fixture(const cache_settings& settings = cached_for(10s)) {
    environment->cache = std::make_shared<actor_slot<cache_actor>>(own(spawn_cache(system, settings, shared)));
    route("a", {.circuit = false, .max_concurrency = 1000, .max_attempts = 1});
  }

  running submit_cached(const std::string& key = "x", const cache_directives& wish = {},
                        const request_options& o = {}) {
    auto s = spec(o);
    s.flow.cacheable = true;
    s.cache = request_cache{{key, true}, wish};
    return start(std::move(s));
  }

  cache_description figures_of_cache() { return ask<cache_description>(environment->cache->get(), describe_cache{}); }
};

class stale_fixture : public cache_fixture {
public:
  stale_fixture() : cache_fixture(cached_for(10s, 1h)) {}
};

provider_result answer(const std::string& text) {
  return answer_of(R"({"choices":[{"message":{"content":")" + text + R"("}}]})");
}

} // namespace

TEST_CASE_METHOD(cache_fixture, "what one request was answered serves the next, with its age and no call [U3]") {
  const auto first = submit_cached();
  end(answer("one"));
  REQUIRE(first.answered());
  CHECK_FALSE(first.result().cached);
  pass(3s);
  const auto second = submit_cached();
  REQUIRE(second.answered());
  CHECK(second.result().cached);
  CHECK(second.result().age == 3s);
  CHECK(second.result().attempts == 0);
  CHECK(second.result().content->body == first.result().content->body);
  CHECK(provider().calls() == 1);
  pass(7s);
  CHECK_FALSE(submit_cached().answered());
  CHECK(provider().calls() == 2);
}

TEST_CASE_METHOD(cache_fixture, "a thousand simultaneous misses share one call [U3]") {
  std::vector<running> all;
  for (int i = 0; i < 1000; ++i)
    all.push_back(submit_cached());
  CHECK(provider().calls() == 1);
  cancel(all[500]); // one that leaves affects nobody
  CHECK(all[500].result().code == errc::cancelled);
  end(answer("one"));
  int calls = 0, shared_ones = 0;
  for (const auto& r : all) {
    REQUIRE(r.answered());
    if (!r.result().ok())
      continue;
    calls += r.result().attempts == 1;
    shared_ones += r.result().cached && r.result().attempts == 0;
  }
  CHECK(calls == 1);
  CHECK(shared_ones == 998);
  CHECK(figures_of_cache().in_flight == 0);
  CHECK(figures_of_cache().entries == 1);
}

TEST_CASE_METHOD(cache_fixture, "a failure goes to all who wait for it, and the next request calls again [U3]") {
  const auto leader = submit_cached(), joiner = submit_cached();
  end(http_error(500, failure_class::server_error));
  CHECK(joiner.result().what == request_result::kind::provider_error);
  CHECK(joiner.result().attempts == 0);
  CHECK_FALSE(joiner.result().cached);
  CHECK(leader.result().attempts == 1);
  CHECK(figures_of_cache().entries == 0);
  submit_cached();
  CHECK(provider().calls() == 2);
}

TEST_CASE_METHOD(cache_fixture, "the leader's impatience is not the others' failure: the first of them calls [U3]") {
  const auto impatient = submit_cached("x", {}, {.timeout = 1s});
  const auto heir = submit_cached(), joiner = submit_cached();
  pass(1s);
  CHECK(impatient.result().code == errc::deadline_exceeded);
  CHECK(provider().calls() == 2);
  end(answer("two"));
  CHECK(heir.result().attempts == 1);
  CHECK(joiner.result().cached);
}

TEST_CASE_METHOD(cache_fixture, "a leader that dies hands over, and its late word says nothing [U3]") {
  const auto leader = submit_cached(), heir = submit_cached();
  kill(leader.actor);
  CHECK(provider().calls() == 2);
  end(answer("two"));
  CHECK(heir.result().attempts == 1);
  CHECK(submit_cached().result().cached);
  CHECK(figures_of_cache().in_flight == 0);
}

TEST_CASE_METHOD(cache_fixture, "a leader whose caller leaves runs on [U3]") {
  const auto leader = submit_cached(), joiner = submit_cached();
  cancel(leader);
  CHECK_FALSE(leader.answered());
  end(answer("one"));
  CHECK(joiner.result().cached);
}

TEST_CASE_METHOD(cache_fixture, "when the cache dies its joiners call by themselves, and nobody waits for ever [U3]") {
  const auto leader = submit_cached(), joiner = submit_cached();
  kill(environment->cache->get());
  CHECK(provider().calls() == 2);
  provider().end(0, answer("one"));
  provider().end(1, answer("one"));
  run();
  CHECK(leader.result().ok());
  CHECK(joiner.result().attempts == 1);
  environment->cache->set(own(spawn_cache(system, cached_for(10s), shared)));
  CHECK_FALSE(submit_cached().answered()); // it knows nothing yet
}

TEST_CASE_METHOD(cache_fixture, "without a cache in its place a request runs [U3]") {
  environment->cache->set(cache_actor{});
  const auto r = submit_cached();
  end(answer("one"));
  CHECK(r.result().ok());
  CHECK_FALSE(r.result().cached);
}

TEST_CASE_METHOD(stale_fixture,
                 "an expired answer is not kept under a key: the next submit gets a fresh one [I5, U3]") {
  const auto submit_keyed = [&] {
    auto s = spec({.key = "k"});
    s.flow.cacheable = true;
    s.cache = request_cache{{"x", true}, {}};
    return start(std::move(s));
  };
  submit_cached();
  end(answer("one"));
  pass(10s);
  const auto leader = submit_keyed(), joiner = submit_keyed();
  end(http_error(503, failure_class::server_error));
  CHECK(leader.result().degraded == degradation::stale);
  CHECK_FALSE(leader.result().replayed);
  CHECK(joiner.result().ok());
  CHECK(joiner.result().degraded == degradation::stale);
  CHECK(joiner.result().replayed);
  CHECK(joiner.result().attempts == 0);
  CHECK_FALSE(store->stored("k"));
  const auto next = submit_keyed();
  end(answer("two"));
  CHECK(next.result().attempts == 1);
  CHECK(next.result().degraded == degradation::none);
}

TEST_CASE_METHOD(stale_fixture, "when every route fails an expired answer serves the leader and who joined it [U3]") {
  const auto first = submit_cached();
  end(answer("one"));
  pass(10s);
  const auto leader = submit_cached(), joiner = submit_cached();
  end(http_error(503, failure_class::server_error));
  for (const auto* r : {&leader, &joiner}) {
    REQUIRE(r->answered());
    CHECK(r->result().ok());
    CHECK(r->result().cached);
    CHECK(r->result().degraded == degradation::stale);
    CHECK(r->result().age == 10s);
    CHECK(r->result().content->body == first.result().content->body);
  }
  CHECK(leader.result().attempts == 1);
  CHECK(leader.result().trail.size() == 1);
  CHECK(joiner.result().attempts == 0);
}

TEST_CASE_METHOD(stale_fixture, "the heir of a leader that died has the expired answer for the worst case too [U3]") {
  const auto first = submit_cached();
  end(answer("one"));
  pass(10s);
  const auto leader = submit_cached(), heir = submit_cached();
  kill(leader.actor);
  CHECK(provider().calls() == 3);
  end(http_error(503, failure_class::server_error));
  REQUIRE(heir.answered());
  CHECK(heir.result().degraded == degradation::stale);
  CHECK(heir.result().age == 10s);
  CHECK(heir.result().content->body == first.result().content->body);
}

TEST_CASE_METHOD(stale_fixture, "nobody is given an older answer than he asked for by the one he waits for [U3]") {
  submit_cached();
  end(answer("one"));
  pass(10s);
  const auto leader = submit_cached(), choosy = submit_cached("x", {true, true, 5s});
  provider().end(1, http_error(503, failure_class::server_error));
  provider().end(2, http_error(503, failure_class::server_error));
  run();
  CHECK(leader.result().degraded == degradation::stale);
  CHECK(choosy.result().degraded == degradation::none);
  CHECK_FALSE(choosy.result().ok());
}

TEST_CASE_METHOD(stale_fixture, "one who wants no old answer takes it from nobody else when every route fails [U3]") {
  submit_cached();
  end(answer("one"));
  pass(10s);
  const auto fresh = submit_cached("x", {false, true, {}}), other = submit_cached();
  provider().end(1, http_error(503, failure_class::server_error));
  provider().end(2, http_error(503, failure_class::server_error));
  run();
  CHECK_FALSE(fresh.result().ok());
  CHECK(other.result().degraded == degradation::stale);
}

TEST_CASE_METHOD(cache_fixture, "who joined shares one body with the cache [U3]") {
  submit_cached();
  const auto joiner = submit_cached();
  end(answer("one"));
  CHECK(joiner.result().content == submit_cached().result().content);
}
