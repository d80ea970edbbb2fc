#include "switchyard/engine/idempotency_ledger.hpp"

#include "support/catch.hpp"

#include <rapidcheck.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

using namespace switchyard;
using kind = reserve_result::kind;
using concurrent_mode = idempotency_settings::concurrent_mode;
using waiters = std::vector<waiter_id>;

namespace {

constexpr wall_time now{std::chrono::seconds{1'750'000'000}};

payload_fingerprint payload(std::uint8_t n) {
  payload_fingerprint f{};
  f.back() = n;
  return f;
}

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
  stored_answer a;
  a.fingerprint = payload(body);
  a.body = "answer";
  a.stored_at = at;
  a.ttl = ttl;
  return std::make_shared<const stored_answer>(std::move(a));
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

// ---- against a model ---------------------------------------------------------------------------------------------

namespace {

// What a caller of the ledger sees, kept in the plainest way; it drives the ledger with random operations.
class ledger_model {
public:
  void reserve(std::string scope, std::uint8_t body, bool is_stream, concurrent_mode mode) {
    const auto waiter = next_waiter_++;
    const auto stored_at = store_.find(scope);
    const auto answer = stored_at == store_.end() ? nullptr : stored_at->second;
    const auto result = ledger_.reserve({scope, payload(body), waiter, is_stream, mode, {}, 1h}, answer, now);
    RC_ASSERT(result.what == expected(scope, body, is_stream, mode));
    switch (result.what) {
    case kind::lead:
      RC_ASSERT(tokens_given_.insert(result.token).second);
      running_[scope] = {body, is_stream, result.token, {}};
      break;
    case kind::joined:
      running_[scope].joiners.push_back(waiter);
      open_.insert(waiter);
      break;
    case kind::replay:
      RC_ASSERT(result.answer == answer);
      break;
    case kind::conflict:
    case kind::in_flight:
    case kind::interrupted:
      break;
    }
  }

  void complete(const std::string& scope, owner_token token, bool success) {
    const auto to_answer = ledger_.complete(scope, token);
    const auto run = running_.find(scope);
    const bool leads = run != running_.end() && run->second.token == token;
    RC_ASSERT(to_answer.has_value() == leads);
    if (!leads)
      return;
    RC_ASSERT(*to_answer == run->second.joiners);
    for (auto w : *to_answer)
      RC_ASSERT(open_.erase(w) == 1u); // answered exactly once
    if (success && !run->second.stream)
      store_[scope] = stored(run->second.body);
    running_.erase(run);
  }

  void lead_lost(const std::string& scope, owner_token token) {
    const auto heir = ledger_.lead_lost(scope, token);
    const auto run = running_.find(scope);
    const bool leads = run != running_.end() && run->second.token == token;
    if (!leads || run->second.joiners.empty()) {
      RC_ASSERT(!heir.has_value());
      if (leads)
        running_.erase(run);
      return;
    }
    RC_ASSERT(heir.has_value());
    RC_ASSERT(heir->waiter == run->second.joiners.front());
    RC_ASSERT(tokens_given_.insert(heir->token).second);
    RC_ASSERT(open_.erase(heir->waiter) == 1u); // leads now, waits no more
    run->second.joiners.erase(run->second.joiners.begin());
    run->second.token = heir->token;
  }

  void leave(const std::string& scope, waiter_id waiter) {
    ledger_.leave(scope, waiter);
    if (const auto run = running_.find(scope); run != running_.end() && std::erase(run->second.joiners, waiter) != 0)
      open_.erase(waiter);
  }

  void expire(const std::string& scope) { store_.erase(scope); }

  // At most one token leads each key: the model's.
  void check_leads(const std::string& scope) const {
    const auto run = running_.find(scope);
    RC_ASSERT(ledger_.in_flight(scope) == (run != running_.end()));
    RC_ASSERT(ledger_.size() == running_.size());
    for (auto token : tokens_given_)
      RC_ASSERT(ledger_.leads(scope, token) == (run != running_.end() && run->second.token == token));
  }

  // Lets every leader finish; then nobody waits.
  void drain() {
    while (!running_.empty())
      complete(running_.begin()->first, running_.begin()->second.token, false);
    RC_ASSERT(open_.empty());
    RC_ASSERT(ledger_.size() == 0u);
  }

  owner_token last_token() const { return tokens_given_.empty() ? 0 : *tokens_given_.rbegin(); }
  owner_token current_token(const std::string& scope) const {
    const auto run = running_.find(scope);
    return run == running_.end() ? 0 : run->second.token;
  }
  waiter_id last_waiter() const { return next_waiter_; }

private:
  struct reservation {
    std::uint8_t body = 0;
    bool stream = false;
    owner_token token = 0;
    waiters joiners;
  };

  kind expected(const std::string& scope, std::uint8_t body, bool is_stream, concurrent_mode mode) const {
    if (const auto r = running_.find(scope); r != running_.end()) {
      if (r->second.body != body)
        return kind::conflict;
      const bool apart = r->second.stream || is_stream || mode == concurrent_mode::reject;
      return apart ? kind::in_flight : kind::joined;
    }
    if (const auto s = store_.find(scope); s != store_.end())
      return s->second->fingerprint == payload(body) ? kind::replay : kind::conflict;
    return kind::lead;
  }

  idempotency_ledger ledger_;
  std::map<std::string, reservation> running_;
  std::map<std::string, std::shared_ptr<const stored_answer>> store_;
  std::set<owner_token> tokens_given_;
  std::set<waiter_id> open_;
  waiter_id next_waiter_ = 1;
};

// One random operation. Few keys and bodies, so that they meet; tokens right, stale and invented.
void random_operation(ledger_model& model, std::uint32_t draw) {
  const auto next = [&draw](std::uint32_t n) {
    const auto value = draw % n;
    draw /= n;
    return value;
  };
  const std::string scope(1, static_cast<char>('a' + next(3)));
  const auto what = next(10);
  const bool coin = next(4) == 0;
  const auto token = coin ? next(static_cast<std::uint32_t>(model.last_token()) + 2) : model.current_token(scope);
  if (what < 5)
    model.reserve(scope, next(5) == 0 ? 2 : 1, next(8) == 0,
                  next(8) == 0 ? concurrent_mode::reject : concurrent_mode::join);
  else if (what == 5)
    model.complete(scope, token, next(3) == 0);
  else if (what == 6)
    model.lead_lost(scope, token);
  else if (what == 7)
    model.expire(scope);
  else
    model.leave(scope, next(static_cast<std::uint32_t>(model.last_waiter()) + 1));
  model.check_leads(scope);
}

} // namespace

TEST_CASE("any interleaving has one leader per key and answers every joiner once [I3, I4, I6, I7, I9]") {
  REQUIRE(rc::check("equal to the model", [] {
    ledger_model model;
    // Numbers of the whole range also in small cases, and longer sequences than the usual hundred.
    const auto draws = *rc::gen::resize(400, rc::gen::container<std::vector<std::uint32_t>>(rc::gen::resize(
                                                 rc::kNominalSize, rc::gen::arbitrary<std::uint32_t>())));
    for (auto draw : draws)
      random_operation(model, draw);
    model.drain();
  }));
}

TEST_CASE("a reservation that nobody leads was interrupted: it runs again, marked, or is refused until its TTL [I10]") {
  stored_answer left;
  left.reserved = true;
  left.fingerprint = payload(1);
  left.stored_at = now;
  left.ttl = 10s;
  const auto leftover = std::make_shared<const stored_answer>(left);
  auto failing = submit(9);
  failing.on_interrupted = idempotency_settings::interrupted_mode::fail;

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

TEST_CASE("the heir of a leader that died runs again, that of one that gave up does not [I7, I10]") {
  const bool died = GENERATE(true, false);
  idempotency_ledger ledger;
  const auto lead = ledger.reserve(submit(1), nullptr, now);
  ledger.reserve(submit(2), nullptr, now);
  CHECK_FALSE(ledger.is_rerun("key"));
  REQUIRE(ledger.lead_lost("key", lead.token, died));
  CHECK(ledger.is_rerun("key") == died);
}
