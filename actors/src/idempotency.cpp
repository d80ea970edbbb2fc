#include "switchyard/actors/idempotency.hpp"

#include "joiners.hpp"
#include "key_journal.hpp"

#include "switchyard/actors/problem_log.hpp"

#include <caf/actor_cast.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <functional>
#include <map>
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

// Changes of the store are written when the mailbox has been worked through as far as it was filled when the first of
// them came: under load one write serves many keys; without load nothing waits.
struct shard_state {
  static inline const char* name = "switchyard.idempotency";

  struct lead {
    std::string scope;
    owner_token token;
    bool told = false; ///< before that its holder has made no call
  };

  idempotency_actor::stateful_pointer<shard_state> self = nullptr;
  std::shared_ptr<const services> shared;
  idempotency_ledger ledger;
  switchyard::joiners joiners;
  std::map<caf::actor_addr, lead> leads;

  key_journal journal;
  problem_log problems;
  bool scheduled = false; ///< a commit is on its way

  // Who waits for a commit when the shard dies is answered at once: it did not come to it.
  ~shard_state() { journal.abandon(); }

  void change(key_change c, key_journal::continuation after) {
    journal.add(std::move(c), std::move(after));
    if (!std::exchange(scheduled, true))
      self->send(self, commit_keys{});
    if (journal.full())
      commit();
  }

  void commit() {
    scheduled = false;
    if (const auto written = journal.commit(); !written)
      problems.report(*shared, self->clock().now(), "write",
                      "idempotency: the store cannot be written: " + written.error().message);
  }

  caf::result<key_answer> reserve(const reserve_key& r) {
    const auto& request = *r.request;
    key_answer answer;
    answer.waiter = request.waiter;
    std::shared_ptr<const stored_answer> stored;
    if (!ledger.in_flight(request.scope)) {
      auto found = journal.find(request.scope);
      if (!found) {
        problems.report(*shared, self->clock().now(), "read",
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

  // The lead is told when the reservation is written. A rerun writes one too: it shows that the store can take its
  // answer, and should it be cut off as well, the mark lives on from then [I10, I13].
  caf::result<key_answer> begin_lead(const reserve_request& request, const reserve_result& result,
                                     const request_actor& leader) {
    watch(leader, request.scope, result.token);
    key_answer answer;
    answer.waiter = request.waiter;
    answer.token = result.token;
    answer.verdict.rerun = result.rerun;
    auto record = std::make_shared<stored_answer>();
    record->reserved = true;
    record->fingerprint = request.fingerprint;
    record->stored_at = shared->wall_clock();
    record->ttl = request.ttl;
    auto promise = self->make_response_promise<key_answer>();
    change({request.scope, std::move(record)},
           [this, answer, scope = request.scope, leader = caf::actor_cast<caf::actor_addr>(leader),
            promise](bool written) mutable {
             if (!written) {
               drop(scope, answer.token);
               if (!answer.verdict.rerun)
                 journal.set_unused(scope);
             }
             promise.deliver(told_lead(answer, leader, written));
           });
    return promise;
  }

  // What a leader hears when it is known whether its reservation was written.
  key_answer told_lead(key_answer answer, const caf::actor_addr& leader, bool written) {
    if (!written)
      return told(std::move(answer), verdict_kind::unavailable, "unavailable");
    if (const auto held = leads.find(leader); held != leads.end())
      held->second.told = true;
    const bool rerun = answer.verdict.rerun;
    return told(std::move(answer), verdict_kind::lead, rerun ? "rerun" : "lead");
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
      refuse(*waiting, verdict_kind::unavailable);
  }

  void refuse(const std::vector<waiter_id>& waiting, verdict_kind why) {
    key_answer answer;
    answer.verdict.what = why;
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
    leads[leader.address()] = {scope, token, false};
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
    const bool succeeded = s.answer || (s.result && s.result->ok() &&
                                        s.result->degraded == degradation::none); // a stream's is not stored [I9]
    const auto record = succeeded ? std::optional{s.answer} : ledger.record_after_failure(s.scope);
    // One caller's impatience is not the others' failure: the first of them tries with its own time.
    if (!succeeded && s.result && s.result->failure == failure_class::deadline) {
      if (!promote(s.scope, s.token, false))
        release(s.scope, record);
      return key_settled{};
    }
    auto promise = self->make_response_promise<key_settled>();
    auto end = [this, s, promise](bool written) mutable {
      const bool stored = written || !s.answer; // a failure is one, written or not [I6]
      const bool rerun = ledger.is_rerun(s.scope);
      if (const auto waiting = ledger.complete(s.scope, s.token); waiting && !waiting->empty())
        answer_joiners(*waiting, s, stored, rerun);
      promise.deliver(key_settled{stored});
    };
    if (record)
      change({s.scope, *record}, std::move(end));
    else
      end(true);
    return promise;
  }

  // What is left of a key that nobody leads any more, and whose last run is known to have come to nothing.
  void release(const std::string& scope, const std::optional<std::shared_ptr<const stored_answer>>& record) {
    if (!record || ledger.in_flight(scope))
      return;
    if (!*record)
      journal.set_free(scope); // from now on
    change({scope, *record}, [](bool) {});
  }

  void answer_joiners(const std::vector<waiter_id>& waiting, const settle_key& s, bool stored, bool rerun) {
    if (!stored)
      return refuse(waiting, verdict_kind::unavailable);
    key_answer answer;
    answer.verdict.what = verdict_kind::answered;
    answer.verdict.rerun = rerun;
    if (s.answer || s.result) {
      auto result = s.answer ? replay_of(*s.answer) : std::make_shared<request_result>(shared_with_others(*s.result));
      result->replayed = result->ok();
      answer.verdict.success = result->ok();
      describe_result(answer.verdict, *result);
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
    const bool interrupted = lost.told && down.reason && down.reason != caf::exit_reason::normal;
    if (interrupted) {
      if (const auto waiting = ledger.interrupt(lost.scope, lost.token))
        return refuse(*waiting, verdict_kind::interrupted); // what is stored of the key refuses later ones [I10]
    }
    const auto record = ledger.record_after_failure(lost.scope);
    if (!promote(lost.scope, lost.token, interrupted) && !interrupted)
      release(lost.scope, record);
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

  // The reservation may still wait for its commit; that of another key is none of the heir's.
  void grant(const std::string& scope, const key_answer& answer, const request_actor& heir) {
    const auto tell_heir = [this, scope, answer, heir](bool written) {
      if (!ledger.leads(scope, answer.token))
        return; // passed on meanwhile
      if (!written)
        drop(scope, answer.token);
      self->send(heir, told_lead(answer, heir.address(), written));
    };
    if (journal.has(scope))
      journal.then(tell_heir);
    else
      tell_heir(true);
  }
};

idempotency_actor::behavior_type shard_behavior(idempotency_actor::stateful_pointer<shard_state> self,
                                                std::shared_ptr<answer_store> store,
                                                std::shared_ptr<const services> shared) {
  auto& s = self->state;
  s.self = self;
  s.journal = key_journal{std::move(store)};
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
