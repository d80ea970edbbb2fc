#include "stored_answers.hpp"

#include "support/catch.hpp"

#include <limits>
#include <optional>
#include <set>

using namespace switchyard;
using namespace switchyard::test;

namespace {

reserve_request submit(waiter_id waiter, std::uint8_t body = 1, std::string scope = "key") {
  return {.scope = std::move(scope), .fingerprint = payload(body), .waiter = waiter};
}

reserve_request stream(waiter_id waiter, std::uint8_t body = 1) {
  auto r = submit(waiter, body);
  r.stream = true;
  return r;
}

reserve_request rejecting(waiter_id waiter) {
  auto r = submit(waiter);
  r.concurrent = concurrent_mode::reject;
  return r;
}

std::shared_ptr<const stored_answer> stored(std::uint8_t body = 1, wall_time at = now, duration ttl = 1h) {
  return record(body, false, at, ttl);
}

} // namespace

TEST_CASE("a key is 1 to 255 visible ASCII characters [I1]") {
  CHECK(valid_idempotency_key("a"));
  CHECK(valid_idempotency_key("!~"));
  CHECK(valid_idempotency_key(std::string(255, 'k')));
  CHECK_FALSE(valid_idempotency_key(""));
  CHECK_FALSE(valid_idempotency_key(std::string(256, 'k')));
  for (int c = 0; c < 256; ++c) {
    CAPTURE(c);
    CHECK(valid_idempotency_key(std::string(1, static_cast<char>(c))) == (c >= 0x21 && c <= 0x7E));
  }
  CHECK_FALSE(valid_idempotency_key(std::string_view("a\0b", 3)));
}

TEST_CASE("scopes of another tenant or path differ, however the parts are cut [I2]") {
  const std::set<std::string> scopes{idempotency_scope{"t", "p", "k"}.str(), idempotency_scope{"u", "p", "k"}.str(),
                                     idempotency_scope{"t", "q", "k"}.str(), idempotency_scope{"t", "p", "l"}.str(),
                                     idempotency_scope{"", "tp", "k"}.str(), idempotency_scope{"tp", "", "k"}.str(),
                                     idempotency_scope{"t", "pk", ""}.str()};
  CHECK(scopes.size() == 7);
  CHECK(idempotency_scope{"t", "p", "k"}.str() == std::string("t\0p\0k", 5));
}

TEST_CASE("a stored answer lives for its TTL [I5, C18]") {
  const auto a = stored(1, now, 10s);
  CHECK(a->alive(now));
  CHECK(a->alive(now + 10s - 1ns));
  CHECK_FALSE(a->alive(now + 10s));
  CHECK(a->alive(now - 10s)); // the clock was set back
  CHECK_FALSE(a->alive(now - 10s - 1ns));
  CHECK_FALSE(stored(1, now, 0s)->alive(now));
  CHECK_FALSE(stored(1, now, -1s)->alive(now));
}

TEST_CASE("senseless times of a stored answer do not overflow [C18]") {
  CHECK_FALSE(stored(1, wall_time::min())->alive(now));
  CHECK_FALSE(stored(1, wall_time::max())->alive(now));
  CHECK_FALSE(stored(1, wall_time::min(), duration::max())->alive(wall_time::max()));
  CHECK_FALSE(stored(1, wall_time::max(), duration::max())->alive(wall_time::min()));
}

TEST_CASE("of many submits one leads, the others join and are answered in order [I4]") {
  idempotency_ledger ledger;
  CHECK_FALSE(ledger.in_flight("key"));
  const auto lead = ledger.reserve(submit(1), nullptr, now);
  CHECK(lead.what == kind::lead);
  CHECK(lead.token != 0);
  CHECK(ledger.in_flight("key"));
  CHECK(ledger.leads("key", lead.token));
  for (waiter_id w : {2, 3, 4})
    CHECK(ledger.reserve(submit(w), nullptr, now).what == kind::joined);
  CHECK(ledger.complete("key", lead.token) == waiters{2, 3, 4});
  CHECK_FALSE(ledger.in_flight("key"));
  CHECK(ledger.size() == 0);
}

TEST_CASE("keys do not touch each other [I2]") {
  idempotency_ledger ledger;
  const auto a = ledger.reserve(submit(1, 1, "a"), nullptr, now);
  const auto b = ledger.reserve(submit(2, 2, "b"), nullptr, now);
  CHECK(a.what == kind::lead);
  CHECK(b.what == kind::lead);
  CHECK(a.token != b.token);
  CHECK_FALSE(ledger.leads("a", b.token));
  CHECK_FALSE(ledger.complete("a", b.token).has_value());
  CHECK(ledger.size() == 2);
}

TEST_CASE("another payload conflicts before anything else [I3]") {
  idempotency_ledger ledger;
  const auto lead = ledger.reserve(submit(1, 1), nullptr, now);
  CHECK(ledger.reserve(submit(2, 2), nullptr, now).what == kind::conflict);
  CHECK(ledger.reserve(stream(3, 2), nullptr, now).what == kind::conflict);
  auto reject = rejecting(4);
  reject.fingerprint = payload(2);
  CHECK(ledger.reserve(reject, nullptr, now).what == kind::conflict);
  CHECK(ledger.complete("key", lead.token) == waiters{});
  CHECK(ledger.reserve(submit(5, 2), stored(1), now).what == kind::conflict);
  CHECK_FALSE(ledger.in_flight("key"));
}

TEST_CASE("a stored answer is replayed while it lives, and then the key is free [I5]") {
  idempotency_ledger ledger;
  const auto answer = stored(1, now, 10s);
  const auto replay = ledger.reserve(submit(1), answer, now + 9s);
  CHECK(replay.what == kind::replay);
  CHECK(replay.answer == answer);
  CHECK(ledger.size() == 0);
  CHECK(ledger.reserve(submit(2, 2), answer, now + 10s).what == kind::lead);
}

TEST_CASE("what the store has does not matter while the key is in flight [I4]") {
  idempotency_ledger ledger;
  ledger.reserve(submit(1, 1), nullptr, now);
  CHECK(ledger.reserve(submit(2, 1), stored(2), now).what == kind::joined);
}

TEST_CASE("after a failure the next submit runs [I6]") {
  idempotency_ledger ledger;
  const auto first = ledger.reserve(submit(1), nullptr, now);
  ledger.reserve(submit(2), nullptr, now);
  CHECK(ledger.complete("key", first.token) == waiters{2});
  const auto second = ledger.reserve(submit(3), nullptr, now);
  CHECK(second.what == kind::lead);
  CHECK(second.token != first.token);
}

TEST_CASE("reject mode refuses to join [I4]") {
  idempotency_ledger ledger;
  const auto lead = ledger.reserve(rejecting(1), nullptr, now);
  CHECK(lead.what == kind::lead);
  CHECK(ledger.reserve(rejecting(2), nullptr, now).what == kind::in_flight);
  CHECK(ledger.complete("key", lead.token) == waiters{});
}

TEST_CASE("a stream is never joined and never joins [I9]") {
  idempotency_ledger ledger;
  const auto first = ledger.reserve(stream(1), nullptr, now);
  CHECK(first.what == kind::lead);
  CHECK(ledger.reserve(stream(2), nullptr, now).what == kind::in_flight);
  CHECK(ledger.reserve(submit(3), nullptr, now).what == kind::in_flight);
  CHECK(ledger.complete("key", first.token) == waiters{});

  const auto second = ledger.reserve(submit(4), nullptr, now);
  CHECK(ledger.reserve(stream(5), nullptr, now).what == kind::in_flight);
  CHECK(ledger.complete("key", second.token) == waiters{});
}

TEST_CASE("a stream whose client leaves releases the key [I9]") {
  idempotency_ledger ledger;
  const auto first = ledger.reserve(stream(1), nullptr, now);
  CHECK_FALSE(ledger.lead_lost("key", first.token).has_value());
  CHECK_FALSE(ledger.in_flight("key"));
}

TEST_CASE("a joiner that leaves affects nobody [I7]") {
  idempotency_ledger ledger;
  const auto lead = ledger.reserve(submit(1), nullptr, now);
  for (waiter_id w : {2, 3, 4})
    ledger.reserve(submit(w), nullptr, now);
  ledger.leave("key", 3);
  ledger.leave("key", 99);
  ledger.leave("other", 2);
  ledger.leave("key", 1); // the leader is no joiner
  CHECK(ledger.leads("key", lead.token));
  CHECK(ledger.complete("key", lead.token) == waiters{2, 4});
}

TEST_CASE("a dead leader hands over to the first joiner, and its token is void [I7]") {
  idempotency_ledger ledger;
  const auto dead = ledger.reserve(submit(1), nullptr, now);
  for (waiter_id w : {2, 3, 4})
    ledger.reserve(submit(w), nullptr, now);
  ledger.leave("key", 2);
  const auto heir = ledger.lead_lost("key", dead.token);
  REQUIRE(heir.has_value());
  CHECK(heir->waiter == 3);
  CHECK(heir->token != dead.token);
  CHECK_FALSE(ledger.leads("key", dead.token));
  CHECK_FALSE(ledger.complete("key", dead.token).has_value());
  CHECK_FALSE(ledger.lead_lost("key", dead.token).has_value());
  CHECK(ledger.leads("key", heir->token));
  CHECK(ledger.complete("key", heir->token) == waiters{4});
}

TEST_CASE("a dead leader without joiners frees the key, and its token stays void [I7]") {
  idempotency_ledger ledger;
  const auto dead = ledger.reserve(submit(1), nullptr, now);
  CHECK_FALSE(ledger.lead_lost("key", dead.token).has_value());
  CHECK_FALSE(ledger.in_flight("key"));
  const auto next = ledger.reserve(submit(2), nullptr, now);
  CHECK(next.what == kind::lead);
  CHECK_FALSE(ledger.complete("key", dead.token).has_value());
  CHECK(ledger.leads("key", next.token));
}

TEST_CASE("a successor starts above its predecessor's tokens [I7]") {
  idempotency_ledger before;
  const auto old = before.reserve(submit(1), nullptr, now);
  idempotency_ledger after(1000);
  const auto lead = after.reserve(submit(1), nullptr, now);
  CHECK(lead.token == 1000);
  CHECK_FALSE(after.complete("key", old.token).has_value());
}

TEST_CASE("a reservation that nobody leads was interrupted: it runs again, marked, or is refused until its TTL [I10]") {
  const auto leftover = record(1, true, now, 10s);
  auto failing = submit(9);
  failing.on_interrupted = interrupted_mode::fail;

  idempotency_ledger ledger;
  CHECK(ledger.reserve(submit(1, 2), leftover, now).what == kind::conflict); // the payload comes first [I3]
  CHECK(ledger.reserve(failing, leftover, now + 10s - 1ns).what == kind::interrupted);
  CHECK(ledger.size() == 0);
  const auto rerun = ledger.reserve(submit(1), leftover, now);
  CHECK(rerun.what == kind::lead);
  CHECK(rerun.rerun);
  CHECK(ledger.is_rerun("key"));
  CHECK(ledger.reserve(failing, leftover, now).what == kind::joined); // it is in flight now
  const auto heir = ledger.lead_lost("key", rerun.token, false);
  REQUIRE(heir);
  CHECK(ledger.is_rerun("key")); // which its heir's run is as well
  CHECK(ledger.complete("key", heir->token));

  const auto expired = ledger.reserve(failing, leftover, now + 10s);
  CHECK(expired.what == kind::lead);
  CHECK_FALSE(expired.rerun);
}

TEST_CASE("a failure leaves nothing of a key, that of a rerun what was found of the interrupted run [I6, I10]") {
  const auto leftover = record(1, true, now, 10s);
  using written = std::optional<std::shared_ptr<const stored_answer>>;

  idempotency_ledger ledger;
  CHECK(ledger.record_after_failure("key") == written{nullptr}); // of a key that is not in flight there is nothing
  const auto first = ledger.reserve(submit(1), nullptr, now);
  ledger.reserve(submit(2), nullptr, now);
  CHECK(ledger.record_after_failure("key") == written{nullptr});
  REQUIRE(ledger.lead_lost("key", first.token)); // the first run's reservation stands, and was never replaced
  CHECK(ledger.record_after_failure("key") == written{});

  const auto rerun = ledger.reserve(submit(3, 1, "left"), leftover, now);
  ledger.reserve(submit(4, 1, "left"), nullptr, now);
  CHECK(ledger.record_after_failure("left") == written{leftover});
  REQUIRE(ledger.lead_lost("left", rerun.token));
  CHECK(ledger.record_after_failure("left") == written{leftover});

  ledger.reserve(submit(5, 1, "expired"), leftover, now + 10s);
  CHECK(ledger.record_after_failure("expired") == written{nullptr});
}

TEST_CASE("the heir of a leader that died runs again, that of one that gave up does not [I7, I10]") {
  const bool died = GENERATE(true, false);
  idempotency_ledger ledger;
  const auto lead = ledger.reserve(submit(1), nullptr, now);
  ledger.reserve(submit(2), nullptr, now);
  CHECK_FALSE(ledger.is_rerun("key"));
  REQUIRE(ledger.lead_lost("key", lead.token, died));
  CHECK(ledger.is_rerun("key") == died);
}

TEST_CASE("with `fail`, nobody inherits a lead that was cut off: all who joined are refused [I7, I10]") {
  idempotency_ledger ledger;
  const auto failing = [](waiter_id waiter) {
    auto s = submit(waiter);
    s.on_interrupted = idempotency_settings::interrupted_mode::fail;
    return s;
  };
  const auto lead = ledger.reserve(failing(1), nullptr, now);
  for (waiter_id w : {2, 3})
    ledger.reserve(failing(w), nullptr, now);
  CHECK_FALSE(ledger.interrupt("key", lead.token + 1).has_value());
  CHECK(ledger.in_flight("key"));
  CHECK(ledger.interrupt("key", lead.token) == waiters{2, 3});
  CHECK_FALSE(ledger.in_flight("key"));
  CHECK_FALSE(ledger.interrupt("key", lead.token).has_value());

  const auto may_rerun = ledger.reserve(submit(4), nullptr, now);
  CHECK_FALSE(ledger.interrupt("key", may_rerun.token).has_value());
  CHECK(ledger.leads("key", may_rerun.token));
}
