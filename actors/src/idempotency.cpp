#include "switchyard/actors/idempotency.hpp"

#include <caf/actor_cast.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <functional>
#include <string>
#include <unordered_map>
#include <utility>

namespace switchyard {

idempotency_actor shard_of(const idempotency_shards& shards, std::string_view scope) {
  return shards.empty() ? idempotency_actor{} : shards[std::hash<std::string_view>{}(scope) % shards.size()]->get();
}

namespace {

using verdict_kind = flow_input::key_verdict::kind;

// The answer as a replay shows it: content type and body only.
std::shared_ptr<const request_result> replay_of(const stored_answer& stored) {
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

// What a joiner gets of its leader's failure: the same error, but no call of its own [I6].
std::shared_ptr<const request_result> failure_of(const request_result& leader) {
  auto result = std::make_shared<request_result>(leader);
  result->attempts = 0;
  result->fallbacks = 0;
  return result;
}

std::optional<int> status_of(const request_result& r) {
  return r.content ? r.content->status : http_status(r.code, r.all_refused);
}

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
  std::unordered_map<waiter_id, request_actor> joiners;
  std::map<caf::actor_addr, lead> leads;

  bool write_failed =
      false; ///< the last write: nobody leads before one succeeds again, or calls would be paid for nothing

  // A store of the program's own may throw; the shard lives on.
  store_result<std::shared_ptr<const stored_answer>> find(const std::string& scope) const {
    try {
      return store->find(scope);
    } catch (const std::exception& e) {
      return store_error{store_error::kind::io, e.what()};
    }
  }

  store_result<void> put(const std::string& scope, const stored_answer& answer) {
    store_result<void> written = store_error{};
    try {
      written = store->put(scope, answer);
    } catch (const std::exception& e) {
      written = store_error{store_error::kind::io, e.what()};
    }
    write_failed = !written;
    return written;
  }

  // Whether an answer could be stored. After a failure a trial tells: an answer without a life, under a name that no
  // key has.
  bool writable() {
    static const std::string trial{"\0trial", 6};
    return !write_failed || put(trial, stored_answer{});
  }

  key_answer reserve(const reserve_key& r) {
    const auto& request = *r.request;
    key_answer answer;
    answer.waiter = request.waiter;
    std::shared_ptr<const stored_answer> stored;
    if (!ledger.in_flight(request.scope)) {
      auto found = find(request.scope);
      if (!found) {
        shared->log(log_level::error, "idempotency: the store cannot be read: " + found.error().message);
        return told(answer, verdict_kind::unavailable, "unavailable");
      }
      stored = std::move(*found);
      const bool replays = stored && stored->alive(shared->wall_clock());
      if (!replays && !writable())
        return told(answer, verdict_kind::unavailable, "unavailable");
    }
    const auto result = ledger.reserve(request, std::move(stored), shared->wall_clock());
    const auto sender = caf::actor_cast<request_actor>(self->current_sender());
    switch (result.what) {
    case reserve_result::kind::lead:
      watch(sender, request.scope, result.token);
      answer.token = result.token;
      return told(answer, verdict_kind::lead, "lead");
    case reserve_result::kind::joined:
      joiners[request.waiter] = sender;
      return told(answer, verdict_kind::joined, "join");
    case reserve_result::kind::replay:
      answer.result = replay_of(*result.answer);
      answer.verdict.success = true;
      answer.verdict.status = result.answer->status;
      return told(answer, verdict_kind::answered, "replay");
    case reserve_result::kind::conflict:
      return told(answer, verdict_kind::conflict, "conflict");
    case reserve_result::kind::in_flight:
      break;
    }
    return told(answer, verdict_kind::in_flight, "in_flight");
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

  key_settled settle(const settle_key& s) {
    if (!ledger.leads(s.scope, s.token))
      return {false}; // the lead was lost: this answer must neither be stored nor release the key [I7]
    bool stored = true;
    if (s.answer) {
      const auto written = put(s.scope, *s.answer);
      stored = static_cast<bool>(written);
      if (!stored)
        shared->log(log_level::error, "idempotency: an answer cannot be stored: " + written.error().message);
    }
    unwatch();
    // One caller's impatience is not the others' failure: the first of them tries with its own time.
    if (!s.answer && s.result && s.result->failure == failure_class::deadline) {
      promote(s.scope, s.token);
      return {stored};
    }
    const auto waiting = ledger.complete(s.scope, s.token);
    if (waiting && !waiting->empty())
      answer_joiners(*waiting, s, stored);
    return {stored};
  }

  void answer_joiners(const std::vector<waiter_id>& waiting, const settle_key& s, bool stored) {
    key_answer answer;
    answer.verdict.what = stored ? verdict_kind::answered : verdict_kind::unavailable;
    answer.verdict.success = s.answer != nullptr;
    if (stored && (s.answer || s.result)) {
      answer.result = s.answer ? replay_of(*s.answer) : failure_of(*s.result);
      answer.verdict.status = status_of(*answer.result);
      answer.verdict.failure = answer.result->failure;
      if (answer.result->what == request_result::kind::own_error)
        answer.verdict.code = answer.result->code;
    }
    for (const auto waiter : waiting) {
      const auto node = joiners.extract(waiter);
      if (node.empty())
        continue;
      answer.waiter = waiter;
      self->send(node.mapped(), answer);
    }
  }

  void leave(const leave_key& l) {
    ledger.leave(l.scope, l.waiter);
    joiners.erase(l.waiter);
  }

  void leader_down(const caf::down_msg& down) {
    const auto found = leads.find(down.source);
    if (found == leads.end())
      return;
    const auto lost = std::move(found->second);
    leads.erase(found);
    promote(lost.scope, lost.token);
  }

  // The first joiner leads [I7].
  void promote(const std::string& scope, owner_token token) {
    const auto next = ledger.lead_lost(scope, token);
    if (!next)
      return;
    const auto node = joiners.extract(next->waiter);
    if (node.empty())
      return;
    // Should this one be dead as well, monitoring it tells us at once, and the next one leads.
    watch(node.mapped(), scope, next->token);
    key_answer answer;
    answer.waiter = next->waiter;
    answer.token = next->token;
    self->send(node.mapped(), told(answer, verdict_kind::lead, "lead"));
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
  return {
      [&s](const reserve_key& r) { return s.reserve(r); },
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
