#include "switchyard/actors/idempotency.hpp"

#include "joiners.hpp"
#include "problem_log.hpp"
#include "store_call.hpp"

#include <caf/actor_cast.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace switchyard {

idempotency_actor shard_of(const idempotency_shards& shards, std::string_view scope) {
  return shards.empty() ? idempotency_actor{} : shards[std::hash<std::string_view>{}(scope) % shards.size()]->get();
}

namespace {

using verdict_kind = flow_input::key_verdict::kind;

// The answer as a replay shows it: content type and body only.
std::shared_ptr<request_result> replay_of(const stored_answer& stored) {
  auto content = std::make_shared<request_result::payload>();
  content->status = stored.status;
  content->headers.add("Content-Type", stored.content_type);
  content->body = stored.body;
  auto result = std::make_shared<request_result>();
  result->what = request_result::kind::answer;
  result->content = std::move(content);
  result->replayed = true;
  return result;
}

// Neither so many changes nor so many bytes wait for their commit.
constexpr std::size_t batch_changes = 1024;
constexpr std::size_t batch_bytes = 8u << 20;
// Keys that are free, which the store does not know yet; should it be away for so long that there are more, some read
// as interrupted.
constexpr std::size_t most_owed = 10'000;

// Changes of the store are collected, and written all at once when the mailbox has been worked through as far as it was
// filled when the first of them came: under load one write, and with `power` one sync, serves many keys; without load
// nothing waits. What depends on a write is told after it.
struct shard_state {
  static inline const char* name = "switchyard.idempotency";

  struct lead {
    std::string scope;
    owner_token token;
  };

  idempotency_actor::stateful_pointer<shard_state> self = nullptr;
  std::shared_ptr<answer_store> store;
  std::shared_ptr<const services> shared;
  idempotency_ledger ledger;
  switchyard::joiners joiners;
  std::map<caf::actor_addr, lead> leads;

  std::vector<key_change> changes;                     ///< since the last commit
  std::vector<std::function<void(bool written)>> then; ///< what follows it, in order
  std::size_t bytes = 0;                               ///< of `changes`
  problem_log read_problems, write_problems;
  bool scheduled = false;     ///< a commit is on its way
  std::set<std::string> owed; ///< keys that are free, which is still to be written

  // Who waits for a commit when the shard dies is answered at once: it did not come to it.
  ~shard_state() {
    for (const auto& f : std::exchange(then, {}))
      f(false);
  }

  store_result<std::shared_ptr<const stored_answer>> find(const std::string& scope) const {
    if (owed.contains(scope))
      return std::shared_ptr<const stored_answer>{};
    return store_call([&] { return store->find(scope); });
  }

  store_result<void> write(std::span<const key_change> all) {
    return store_call([&] { return store->write(all); });
  }

  // Has a change written with the next commit; `after` is called with whether it was.
  void change(key_change c, std::function<void(bool)> after) {
    schedule();
    bytes += c.scope.size() + (c.record ? c.record->body.size() : 0);
    changes.push_back(std::move(c));
    then.push_back(std::move(after));
    if (changes.size() >= batch_changes || bytes >= batch_bytes)
      commit();
  }

  void schedule() {
    if (!std::exchange(scheduled, true))
      self->send(self, commit_keys{});
  }

  void commit() {
    scheduled = false;
    if (changes.empty() && owed.empty())
      return;
    std::vector<key_change> batch;
    for (const auto& scope : owed)
      batch.push_back({scope, nullptr});
    std::ranges::move(std::exchange(changes, {}), std::back_inserter(batch)); // what is newer of a key comes later
    bytes = 0;
    const auto written = write(batch);
    if (written) {
      owed.clear();
    } else {
      write_problems.report(*shared, self->clock().now(),
                            "idempotency: the store cannot be written: " + written.error().message);
      for (const auto& c : batch) // who asked for a record is told that it failed
        if (!c.record)
          owe(c.scope);
    }
    // What follows may ask for the next commit.
    for (const auto& f : std::exchange(then, {}))
      f(static_cast<bool>(written));
  }

  void owe(const std::string& scope) {
    if (owed.size() >= most_owed)
      owed.erase(owed.begin());
    owed.insert(scope);
  }

  caf::result<key_answer> reserve(const reserve_key& r) {
    const auto& request = *r.request;
    key_answer answer;
    answer.waiter = request.waiter;
    std::shared_ptr<const stored_answer> stored;
    if (!ledger.in_flight(request.scope)) {
      auto found = find(request.scope);
      if (!found) {
        read_problems.report(*shared, self->clock().now(),
                             "idempotency: the store cannot be read: " + found.error().message);
        return told(answer, verdict_kind::unavailable, "unavailable");
      }
      stored = std::move(*found);
    }
    const auto result = ledger.reserve(request, std::move(stored), shared->wall_clock());
    const auto sender = caf::actor_cast<request_actor>(self->current_sender());
    switch (result.what) {
    case reserve_result::kind::lead:
      return begin_lead(request, result, sender);
    case reserve_result::kind::joined:
      joiners.add(request.waiter, sender);
      return told(answer, verdict_kind::joined, "join");
    case reserve_result::kind::replay:
      answer.result = replay_of(*result.answer);
      answer.verdict.success = true;
      answer.verdict.status = result.answer->status;
      answer.verdict.rerun = result.answer->outcome_unknown;
      return told(answer, verdict_kind::answered, "replay");
    case reserve_result::kind::conflict:
      return told(answer, verdict_kind::conflict, "conflict");
    case reserve_result::kind::interrupted:
      return told(answer, verdict_kind::interrupted, "interrupted");
    case reserve_result::kind::in_flight:
      break;
    }
    return told(answer, verdict_kind::in_flight, "in_flight");
  }

  // The lead is told when the reservation is written; that of a rerun is still there.
  caf::result<key_answer> begin_lead(const reserve_request& request, const reserve_result& result,
                                     const request_actor& leader) {
    watch(leader, request.scope, result.token);
    key_answer answer;
    answer.waiter = request.waiter;
    answer.token = result.token;
    answer.verdict.rerun = result.rerun;
    if (result.rerun)
      return told(answer, verdict_kind::lead, "rerun");
    auto record = std::make_shared<stored_answer>();
    record->reserved = true;
    record->fingerprint = request.fingerprint;
    record->stored_at = shared->wall_clock();
    record->ttl = request.ttl;
    auto promise = self->make_response_promise<key_answer>();
    change({request.scope, std::move(record)}, [this, answer, scope = request.scope, promise](bool written) mutable {
      if (!written)
        drop(scope, answer.token);
      promise.deliver(
          told(answer, written ? verdict_kind::lead : verdict_kind::unavailable, written ? "lead" : "unavailable"));
    });
    return promise;
  }

  // A lead whose reservation could not be written: whoever holds it by now, and who joined, are refused [I13].
  void drop(const std::string& scope, owner_token token) {
    std::erase_if(leads, [&](const auto& held) {
      const bool gone = held.second.scope == scope && held.second.token == token;
      if (gone)
        self->demonitor(held.first);
      return gone;
    });
    if (const auto waiting = ledger.complete(scope, token))
      refuse(*waiting);
  }

  void refuse(const std::vector<waiter_id>& waiting) {
    key_answer answer;
    answer.verdict.what = verdict_kind::unavailable;
    joiners.tell(self, waiting, answer);
  }

  key_answer told(key_answer answer, verdict_kind kind, std::string_view event) const {
    answer.verdict.what = kind;
    shared->emit(idempotency_event{event});
    return answer;
  }

  void watch(const request_actor& leader, const std::string& scope, owner_token token) {
    if (!leader)
      return;
    self->monitor(leader);
    leads[leader.address()] = {scope, token};
  }

  // The leader, which is the sender, is done.
  void unwatch() {
    const auto found = leads.find(caf::actor_cast<caf::actor_addr>(self->current_sender()));
    if (found == leads.end())
      return;
    self->demonitor(found->first);
    leads.erase(found);
  }

  // The key stays in flight until what it came to is written, so that nobody finds it missing in between.
  caf::result<key_settled> settle(const settle_key& s) {
    if (!ledger.leads(s.scope, s.token))
      return key_settled{false}; // the lead was lost: this answer must neither be stored nor release the key [I7]
    unwatch();
    // One caller's impatience is not the others' failure: the first of them tries with its own time.
    if (!s.answer && s.result && s.result->failure == failure_class::deadline) {
      if (!promote(s.scope, s.token, false))
        release(s.scope);
      return key_settled{};
    }
    auto promise = self->make_response_promise<key_settled>();
    auto end = [this, s, promise](bool written) mutable {
      const bool stored = written || !s.answer; // a failure is one, written or not [I6]
      if (const auto waiting = ledger.complete(s.scope, s.token); waiting && !waiting->empty())
        answer_joiners(*waiting, s, stored);
      promise.deliver(key_settled{stored});
    };
    if (!s.answer && ledger.is_rerun(s.scope))
      end(true); // nothing is known that was not before: the next one is a rerun too
    else
      change({s.scope, s.answer}, std::move(end));
    return promise;
  }

  // Nothing is left of a key that nobody leads, and whose last run is known to have failed.
  void release(const std::string& scope) {
    if (ledger.in_flight(scope))
      return;
    owe(scope); // free from now on, whatever the store still has
    change({scope, nullptr}, [](bool) {});
  }

  void answer_joiners(const std::vector<waiter_id>& waiting, const settle_key& s, bool stored) {
    if (!stored)
      return refuse(waiting);
    key_answer answer;
    answer.verdict.what = verdict_kind::answered;
    if (s.answer || s.result) {
      auto result = s.answer ? replay_of(*s.answer) : std::make_shared<request_result>(shared_with_others(*s.result));
      result->replayed = result->ok();
      answer.verdict.success = result->ok();
      answer.verdict.status = status_of(*result);
      answer.verdict.failure = result->failure;
      if (result->what == request_result::kind::own_error)
        answer.verdict.code = result->code;
      answer.result = std::move(result);
    }
    joiners.tell(self, waiting, answer);
  }

  void leave(const leave_key& l) {
    ledger.leave(l.scope, l.waiter);
    joiners.remove(l.waiter);
  }

  void leader_down(const caf::down_msg& down) {
    const auto found = leads.find(down.source);
    if (found == leads.end())
      return;
    const auto lost = std::move(found->second);
    leads.erase(found);
    // One that ended by itself without settling had its lead granted too late, and made no call.
    const bool killed = down.reason && down.reason != caf::exit_reason::normal;
    const bool rerun = ledger.is_rerun(lost.scope);
    if (!promote(lost.scope, lost.token, killed) && !killed && !rerun)
      release(lost.scope);
  }

  // The first joiner leads [I7]; whether there was one.
  bool promote(const std::string& scope, owner_token token, bool interrupted) {
    while (const auto next = ledger.lead_lost(scope, token, interrupted)) {
      token = next->token;
      const auto heir = joiners.take(next->waiter);
      if (!heir)
        continue;
      // Should this one be dead as well, monitoring it tells us at once, and the next one leads.
      watch(heir, scope, token);
      key_answer answer;
      answer.waiter = next->waiter;
      answer.token = token;
      answer.verdict.rerun = ledger.is_rerun(scope);
      grant(scope, answer, heir);
      return true;
    }
    return false;
  }

  // The reservation may still wait for its commit.
  void grant(const std::string& scope, const key_answer& answer, const request_actor& heir) {
    const auto tell_heir = [this, scope, answer, heir](bool written) {
      if (!ledger.leads(scope, answer.token))
        return; // passed on meanwhile
      if (!written)
        drop(scope, answer.token);
      self->send(heir, told(answer, written ? verdict_kind::lead : verdict_kind::unavailable,
                            written ? "lead" : "unavailable"));
    };
    if (changes.empty())
      tell_heir(true);
    else
      then.push_back(tell_heir);
  }
};

idempotency_actor::behavior_type shard_behavior(idempotency_actor::stateful_pointer<shard_state> self,
                                                std::shared_ptr<answer_store> store,
                                                std::shared_ptr<const services> shared) {
  auto& s = self->state;
  s.self = self;
  s.store = std::move(store);
  s.shared = std::move(shared);
  // A shard that follows a dead one must not give out its tokens again: it starts anywhere, with room to count on.
  s.ledger = idempotency_ledger{(s.shared->random() >> 1) + 1};
  self->set_down_handler([&s](const caf::down_msg& down) { s.leader_down(down); });
  self->set_exit_handler([self, &s](const caf::exit_msg& e) {
    s.commit(); // and whoever waits for it is answered
    self->quit(e.reason);
  });
  return {
      [&s](const reserve_key& r) { return s.reserve(r); },
      [&s](const commit_keys&) { s.commit(); },
      [&s](const leave_key& l) { s.leave(l); },
      [&s](const settle_key& k) { return s.settle(k); },
      [&s](const count_keys&) { return static_cast<std::uint64_t>(s.ledger.size()); },
  };
}

} // namespace

idempotency_actor spawn_idempotency_shard(caf::actor_system& system, std::shared_ptr<answer_store> store,
                                          std::shared_ptr<const services> shared, bool detached) {
  if (detached)
    return system.spawn<caf::detached>(shard_behavior, std::move(store), std::move(shared));
  return system.spawn(shard_behavior, std::move(store), std::move(shared));
}

} // namespace switchyard
