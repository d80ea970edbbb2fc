// The ledger of idempotency keys, and the store as it is told to keep it, against a model.

#include "stored_answers.hpp"

#include "support/catch.hpp"

#include <rapidcheck.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

using namespace switchyard;
using namespace switchyard::test;

namespace {

/// A submit, drawn.
struct drawn_submit {
  std::uint8_t body = 1;
  bool stream = false;
  concurrent_mode concurrent = concurrent_mode::join;
  interrupted_mode on_interrupted = interrupted_mode::rerun;
};

// What a caller of the ledger sees, kept in the plainest way; it drives the ledger with random operations, and does
// with the store what the ledger says.
class ledger_model {
public:
  void reserve(const std::string& scope, const drawn_submit& s) {
    const auto waiter = next_waiter_++;
    const auto stored = store_.find(scope);
    const auto found = stored == store_.end() ? nullptr : stored->second;
    const auto result =
        ledger_.reserve({scope, payload(s.body), waiter, s.stream, s.concurrent, s.on_interrupted, 1h}, found, now);
    RC_ASSERT(result.what == expected(scope, s));
    RC_ASSERT(result.rerun == (result.what == kind::lead && is_interrupted(scope)));
    switch (result.what) {
    case kind::lead:
      RC_ASSERT(tokens_given_.insert(result.token).second);
      running_[scope] = {s.body, s.stream, s.on_interrupted, result.token, {}};
      store_[scope] = record(s.body, true);
      break;
    case kind::joined:
      running_[scope].joiners.push_back(waiter);
      open_.insert(waiter);
      break;
    case kind::replay:
      RC_ASSERT(result.answer == found);
      break;
    case kind::conflict:
    case kind::in_flight:
    case kind::interrupted:
      break;
    }
  }

  void complete(const std::string& scope, owner_token token, bool success) {
    const auto after_failure = ledger_.record_after_failure(scope);
    const auto to_answer = ledger_.complete(scope, token);
    const auto run = running_.find(scope);
    const bool leads = run != running_.end() && run->second.token == token;
    RC_ASSERT(to_answer.has_value() == leads);
    if (!leads)
      return;
    RC_ASSERT(*to_answer == run->second.joiners);
    for (auto w : *to_answer)
      RC_ASSERT(open_.erase(w) == 1u); // answered exactly once
    if (!success) {
      keep(scope, after_failure);
    } else if (run->second.stream) {
      known_.erase(scope);
      store_.erase(scope);
    } else {
      known_[scope] = {run->second.body, false};
      store_[scope] = record(run->second.body, false);
    }
    running_.erase(run);
  }

  // The leader is gone: killed, so that its outcome is unknown, or known to have come to nothing.
  void lead_lost(const std::string& scope, owner_token token, bool killed) {
    const auto after_failure = ledger_.record_after_failure(scope);
    const auto run = running_.find(scope);
    const bool leads = run != running_.end() && run->second.token == token;
    if (leads && killed)
      known_[scope] = {run->second.body, true};
    if (const auto refused = killed ? ledger_.interrupt(scope, token) : std::nullopt) {
      RC_ASSERT(leads && run->second.on_interrupted == interrupted_mode::fail);
      RC_ASSERT(*refused == run->second.joiners);
      for (auto w : *refused)
        RC_ASSERT(open_.erase(w) == 1u);
      running_.erase(run);
      return;
    }
    RC_ASSERT(!(leads && killed) || run->second.on_interrupted == interrupted_mode::rerun);
    const auto heir = ledger_.lead_lost(scope, token, killed);
    if (!leads || run->second.joiners.empty()) {
      RC_ASSERT(!heir.has_value());
      if (leads && !killed)
        keep(scope, after_failure);
      if (leads)
        running_.erase(run);
      return;
    }
    RC_ASSERT(heir.has_value());
    RC_ASSERT(heir->waiter == run->second.joiners.front());
    RC_ASSERT(tokens_given_.insert(heir->token).second);
    RC_ASSERT(open_.erase(heir->waiter) == 1u); // leads now, waits no more
    RC_ASSERT(ledger_.is_rerun(scope) == is_interrupted(scope));
    run->second.joiners.erase(run->second.joiners.begin());
    run->second.token = heir->token;
  }

  void leave(const std::string& scope, waiter_id waiter) {
    ledger_.leave(scope, waiter);
    if (const auto run = running_.find(scope); run != running_.end() && std::erase(run->second.joiners, waiter) != 0)
      open_.erase(waiter);
  }

  void expire(const std::string& scope) {
    if (running_.contains(scope))
      return;
    store_.erase(scope);
    known_.erase(scope);
  }

  // Only the store is left.
  void crash() {
    ledger_ = idempotency_ledger{last_token() + 1};
    for (const auto& [scope, run] : running_)
      known_[scope] = {run.body, true};
    running_.clear();
    open_.clear();
  }

  // At most one token leads each key, the model's; and what the store has of one that nobody leads is what is known.
  void check(const std::string& scope) const {
    const auto run = running_.find(scope);
    RC_ASSERT(ledger_.in_flight(scope) == (run != running_.end()));
    RC_ASSERT(ledger_.size() == running_.size());
    for (auto token : tokens_given_)
      RC_ASSERT(ledger_.leads(scope, token) == (run != running_.end() && run->second.token == token));
    if (run != running_.end())
      return;
    const auto stored = store_.find(scope);
    const auto known = known_.find(scope);
    RC_ASSERT((stored != store_.end()) == (known != known_.end()));
    if (stored == store_.end())
      return;
    RC_ASSERT(stored->second->reserved == known->second.interrupted);
    RC_ASSERT(stored->second->fingerprint == payload(known->second.body));
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
    interrupted_mode on_interrupted = interrupted_mode::rerun;
    owner_token token = 0;
    waiters joiners;
  };
  /// Of a key that has an answer, or whose run was interrupted and has had none since.
  struct knowledge {
    std::uint8_t body = 0;
    bool interrupted = false;
  };

  bool is_interrupted(const std::string& scope) const {
    const auto k = known_.find(scope);
    return k != known_.end() && k->second.interrupted;
  }

  kind expected(const std::string& scope, const drawn_submit& s) const {
    if (const auto r = running_.find(scope); r != running_.end()) {
      if (r->second.body != s.body)
        return kind::conflict;
      const bool apart = r->second.stream || s.stream || s.concurrent == concurrent_mode::reject;
      return apart ? kind::in_flight : kind::joined;
    }
    const auto k = known_.find(scope);
    if (k == known_.end())
      return kind::lead;
    if (k->second.body != s.body)
      return kind::conflict;
    if (!k->second.interrupted)
      return kind::replay;
    return s.on_interrupted == interrupted_mode::fail ? kind::interrupted : kind::lead;
  }

  // What the ledger says of a run that came to nothing.
  void keep(const std::string& scope, const std::optional<std::shared_ptr<const stored_answer>>& what) {
    if (!what)
      return;
    if (*what)
      store_[scope] = *what;
    else
      store_.erase(scope);
  }

  idempotency_ledger ledger_;
  std::map<std::string, reservation> running_;
  std::map<std::string, knowledge> known_;
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
  const auto what = next(11);
  const bool coin = next(4) == 0;
  const auto token = coin ? next(static_cast<std::uint32_t>(model.last_token()) + 2) : model.current_token(scope);
  if (what < 5)
    model.reserve(scope, {.body = static_cast<std::uint8_t>(next(5) == 0 ? 2 : 1),
                          .stream = next(8) == 0,
                          .concurrent = next(8) == 0 ? concurrent_mode::reject : concurrent_mode::join,
                          .on_interrupted = next(4) == 0 ? interrupted_mode::fail : interrupted_mode::rerun});
  else if (what == 5)
    model.complete(scope, token, next(3) == 0);
  else if (what == 6)
    model.lead_lost(scope, token, next(2) == 0);
  else if (what == 7)
    model.expire(scope);
  else if (what == 8)
    next(4) == 0 ? model.crash() : model.expire(scope);
  else
    model.leave(scope, next(static_cast<std::uint32_t>(model.last_waiter()) + 1));
  model.check(scope);
}

} // namespace

TEST_CASE("any interleaving has one leader per key, answers every joiner once and marks what a crash cut off [I3, I4, "
          "I6, I7, I9, I10]") {
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
