#include "switchyard/engine/response_cache.hpp"

#include "support/catch.hpp"

#include <string>
#include <vector>

using namespace switchyard;
using kind = response_cache::finding::kind;
using waiters = std::vector<waiter_id>;

namespace {

constexpr time_point start{1h};

cache_settings settings_of(std::uint64_t max_bytes = 1 << 20, duration ttl = 10s, duration stale = 0s) {
  cache_settings s;
  s.enabled = true;
  s.ttl = ttl;
  s.stale_if_error = stale;
  s.max_bytes = max_bytes;
  return s;
}

std::shared_ptr<const answer_payload> answer(std::string body) {
  auto a = std::make_shared<answer_payload>();
  a->status = 200;
  a->body = std::move(body);
  return a;
}

// A cache and the time.
struct cache_world {
  explicit cache_world(const cache_settings& s = settings_of()) : cache(s) {}

  response_cache::finding look_up(const std::string& key, const cache_directives& wish = {}, bool fallback = true) {
    return cache.look_up({key, fallback}, wish, ++last_waiter, now);
  }

  waiters settle(const std::string& key, owner_token token, std::shared_ptr<const answer_payload> a,
                 bool fallback = true) {
    return cache.settle({key, fallback}, token, std::move(a), now);
  }

  /// Looks up what is not there, and puts it there.
  void put(const std::string& key, const std::string& body) {
    const auto lead = look_up(key);
    REQUIRE(lead.what == kind::lead);
    settle(key, lead.token, answer(body));
  }

  response_cache cache;
  time_point now = start;
  waiter_id last_waiter = 0;
};

} // namespace

TEST_CASE("an answer is kept for its TTL and served with its age [U3]") {
  cache_world w;
  w.put("a", "hello");
  w.now += 10s - 1ns;
  const auto hit = w.look_up("a");
  CHECK(hit.what == kind::hit);
  CHECK(hit.answer->body == "hello");
  CHECK(hit.age == 10s - 1ns);
  w.now += 1ns;
  const auto expired = w.look_up("a");
  CHECK(expired.what == kind::lead);
  CHECK_FALSE(expired.answer);
  CHECK(w.cache.bytes() == 0); // what can be served in no way is gone
}

TEST_CASE("of simultaneous misses one leads, the rest are told in order [U3]") {
  cache_world w;
  const auto lead = w.look_up("a");
  REQUIRE(lead.what == kind::lead);
  CHECK(w.look_up("a").what == kind::joined); // 2
  CHECK(w.look_up("a").what == kind::joined); // 3
  CHECK(w.look_up("b").what == kind::lead);
  w.cache.leave({"a", true}, 2);
  CHECK(w.settle("a", lead.token, answer("x")) == waiters{3});
  CHECK(w.look_up("a").what == kind::hit);
}

TEST_CASE("what may not be kept answers those who joined, and no one after them [U3]") {
  cache_world w;
  const auto lead = w.look_up("a");
  w.look_up("a");
  CHECK(w.settle("a", lead.token, nullptr) == waiters{2});
  CHECK(w.look_up("a").what == kind::lead);
}

TEST_CASE("a lost lead goes to the first who joined, and its token neither keeps nor answers [U3]") {
  cache_world w;
  const auto lead = w.look_up("a");
  w.look_up("a");
  w.look_up("a");
  const auto next = w.cache.lead_lost({"a", true}, lead.token, w.now);
  REQUIRE(next);
  CHECK(next->heir.waiter == 2);
  CHECK_FALSE(next->answer);
  CHECK(w.settle("a", lead.token, answer("late")).empty());
  CHECK(w.cache.entries() == 0);
  CHECK(w.settle("a", next->heir.token, answer("x")) == waiters{3});
  CHECK_FALSE(w.cache.lead_lost({"a", true}, next->heir.token, w.now));
}

TEST_CASE("requests that may not fall over share calls among themselves, and answers with all [U3]") {
  cache_world w;
  const auto with = w.look_up("a", {}, true), without = w.look_up("a", {}, false);
  CHECK(with.what == kind::lead);
  CHECK(without.what == kind::lead);
  CHECK(w.look_up("a", {}, false).what == kind::joined);
  CHECK(w.settle("a", without.token, answer("x"), false) == waiters{3});
  CHECK(w.look_up("a", {}, true).what == kind::hit);
}

TEST_CASE("who wants a fresh answer gets neither a stored one nor one that was begun before [U3]") {
  cache_world w;
  const cache_directives fresh{.read = false, .store = true, .max_age = {}};
  w.put("a", "old");
  const auto lead = w.look_up("a", fresh);
  CHECK(lead.what == kind::lead);
  const auto alone = w.look_up("a", fresh);
  CHECK(alone.what == kind::lead);
  CHECK(alone.token != lead.token);
  CHECK(w.look_up("a").what == kind::hit); // the old one still serves others
  CHECK(w.settle("a", alone.token, answer("new")).empty());
  CHECK(w.look_up("a").answer->body == "new");
  CHECK(w.cache.in_flight() == 1);
  CHECK_FALSE(w.cache.lead_lost({"a", true}, lead.token, w.now));
  const auto lost = w.look_up("a", fresh), besides = w.look_up("a", fresh);
  CHECK_FALSE(w.cache.lead_lost({"a", true}, besides.token, w.now));
  CHECK(w.settle("a", besides.token, answer("late")).empty());
  CHECK(w.look_up("a").answer->body == "new");
  CHECK(w.settle("a", lost.token, nullptr).empty());
  CHECK(w.cache.in_flight() == 0);
}

TEST_CASE("max-age refuses an older answer, not a younger one [U3]") {
  cache_world w;
  w.put("a", "x");
  w.now += 5s;
  CHECK(w.look_up("a", {true, true, 5s}).what == kind::hit);
  CHECK(w.look_up("a", {true, true, 4s}).what == kind::lead);
}

TEST_CASE("an expired answer comes with the lead while stale_if_error lasts, unless the caller wants no old one [U3]") {
  cache_world w(settings_of(1 << 20, 10s, 20s));
  w.put("a", "x");
  w.now += 10s;
  const auto lead = w.look_up("a");
  REQUIRE(lead.what == kind::lead);
  CHECK(lead.answer->body == "x");
  CHECK(lead.age == 10s);
  w.settle("a", lead.token, nullptr);
  for (const auto& wish : {cache_directives{false, true, {}}, cache_directives{true, true, 9s}}) {
    const auto other = w.look_up("a", wish);
    CHECK_FALSE(other.answer);
    w.settle("a", other.token, nullptr);
  }
  w.now += 20s;
  CHECK_FALSE(w.look_up("a").answer);
  CHECK(w.cache.entries() == 0);
}

TEST_CASE("max-age=0 wants a fresh answer: not even one stored at this moment, nor that of a call under way [U3]") {
  cache_world w;
  w.put("a", "x");
  const auto lead = w.look_up("a", {true, true, 0s});
  CHECK(lead.what == kind::lead);
  CHECK(w.look_up("a", {true, true, 0s}).what == kind::lead);
}

TEST_CASE("who takes no expired answer shares no call with those who may be given it [U3]") {
  cache_world w(settings_of(1 << 20, 10s, 1h));
  const cache_directives young{true, true, 5s};
  w.put("a", "x");
  w.now += 10s;
  const auto may = w.look_up("a"), may_not = w.look_up("a", young);
  CHECK(may.answer);
  REQUIRE(may_not.what == kind::lead);
  CHECK_FALSE(may_not.answer);
  CHECK(w.look_up("a").what == kind::joined);        // 4
  CHECK(w.look_up("a", young).what == kind::joined); // 5
  CHECK(w.settle("a", may.token, nullptr) == waiters{4});
  CHECK(w.settle("a", may_not.token, nullptr) == waiters{5});
}

TEST_CASE("one who leads for a fresh answer leaves the expired one to the others [U3]") {
  cache_world w(settings_of(1 << 20, 10s, 1h));
  w.put("a", "x");
  w.now += 10s;
  CHECK(w.look_up("a", {false, true, {}}).what == kind::lead);
  const auto other = w.look_up("a");
  REQUIRE(other.what == kind::lead);
  CHECK(other.answer->body == "x");
}

TEST_CASE("an expired answer that is gone divides nobody: without a wish one joins the call that has it [U3]") {
  cache_world w(settings_of(1 << 20, 10s, 20s));
  w.put("a", "x");
  w.now += 29s;
  const auto lead = w.look_up("a");
  REQUIRE(lead.answer);
  w.now += 1s;
  CHECK(w.look_up("a").what == kind::joined);
  CHECK(w.look_up("a", {true, true, 5s}).what == kind::lead);
}

TEST_CASE("a lost lead's heir has the expired answer too, as long as it may be served [U3]") {
  cache_world w(settings_of(1 << 20, 10s, 20s));
  w.put("a", "x");
  w.now += 10s;
  const auto lead = w.look_up("a");
  w.look_up("a");
  w.look_up("a");
  w.now += 1s;
  const auto heir = w.cache.lead_lost({"a", true}, lead.token, w.now);
  REQUIRE(heir);
  REQUIRE(heir->answer);
  CHECK(heir->answer->body == "x");
  CHECK(heir->age == 11s);
  w.now += 19s;
  const auto late = w.cache.lead_lost({"a", true}, heir->heir.token, w.now);
  REQUIRE(late);
  CHECK_FALSE(late->answer);
}

TEST_CASE("the least recently used goes first, and what is larger than the cache is not kept [U3]") {
  const auto cost = response_cache::entry_overhead + 1 + 100;
  cache_world w(settings_of(2 * cost));
  w.put("a", std::string(100, 'x'));
  w.put("b", std::string(100, 'x'));
  CHECK(w.cache.bytes() == 2 * cost);
  CHECK(w.look_up("a").what == kind::hit);
  w.put("c", std::string(100, 'x'));
  CHECK(w.look_up("a").what == kind::hit);
  CHECK(w.look_up("c").what == kind::hit);
  CHECK(w.cache.entries() == 2);
  w.put("d", std::string(2 * cost, 'x'));
  CHECK(w.cache.entries() == 2);
  CHECK(w.look_up("d").what == kind::lead);
}
