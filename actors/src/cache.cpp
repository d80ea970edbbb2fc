#include "switchyard/actors/cache.hpp"

#include "joiners.hpp"

#include <caf/actor_cast.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

namespace switchyard {

namespace {

using verdict_kind = flow_input::cache_verdict::kind;

std::shared_ptr<request_result> cached_result(std::shared_ptr<const answer_payload> answer, duration age, bool stale) {
  auto result = std::make_shared<request_result>();
  result->what = request_result::kind::answer;
  result->content = std::move(answer);
  result->cached = true;
  result->degraded = stale ? degradation::stale : degradation::none;
  result->age = age;
  return result;
}

// A cache that is switched off keeps nothing.
cache_settings kept_by(cache_settings settings) {
  if (!settings.enabled)
    settings.max_bytes = 0;
  return settings;
}

struct cache_state {
  static inline const char* name = "switchyard.cache";

  struct lead {
    cache_place place;
    caf::actor_addr holder;
  };

  cache_actor::stateful_pointer<cache_state> self = nullptr;
  std::shared_ptr<const services> shared;
  std::unique_ptr<response_cache> cache;
  switchyard::joiners joiners;
  std::unordered_map<owner_token, lead> leads;
  std::map<caf::actor_addr, owner_token> held; ///< the same by who holds them

  time_point now() const { return self->clock().now(); }

  cache_answer look_up(const look_up_cache& l) {
    using kind = response_cache::finding::kind;
    auto found = cache->look_up(l.place, l.wish, l.waiter, now());
    const auto asker = caf::actor_cast<request_actor>(self->current_sender());
    cache_answer answer;
    answer.waiter = l.waiter;
    switch (found.what) {
    case kind::hit:
      answer.verdict.what = verdict_kind::answered;
      answer.verdict.status = found.answer->status;
      answer.result = cached_result(std::move(found.answer), found.age, false);
      break;
    case kind::joined:
      answer.verdict.what = verdict_kind::joined;
      joiners.add(l.waiter, asker);
      break;
    case kind::lead:
      answer.verdict.what = verdict_kind::lead;
      answer.token = found.token;
      watch(asker, l.place, found.token);
      add_expired(answer, std::move(found.answer), found.age);
      break;
    }
    return answer;
  }

  // What a leader may serve should every route fail, if there is such an answer.
  static void add_expired(cache_answer& to, std::shared_ptr<const answer_payload> expired, duration age) {
    if (!expired)
      return;
    to.verdict.stale = true;
    to.verdict.status = expired->status;
    to.result = cached_result(std::move(expired), age, true);
  }

  void watch(const request_actor& leader, const cache_place& place, owner_token token) {
    if (!leader)
      return;
    self->monitor(leader);
    leads[token] = {place, leader.address()};
    held[leader.address()] = token;
  }

  void unwatch(owner_token token) {
    const auto node = leads.extract(token);
    if (node.empty())
      return;
    self->demonitor(node.mapped().holder);
    held.erase(node.mapped().holder);
  }

  void leave(const leave_cache& l) {
    cache->leave(l.place, l.waiter);
    joiners.remove(l.waiter);
  }

  // Comes from a request actor, or in its name: the token says whose it is.
  void settle(const settle_cache& s) {
    unwatch(s.token);
    // One caller's impatience is not the others' failure.
    const auto failure = s.result ? s.result->failure : std::optional<failure_class>{};
    if (failure == failure_class::deadline || failure == failure_class::cancelled)
      return promote(s.place, s.token);
    const auto waiting = cache->settle(s.place, s.token, s.answer, now());
    if (!waiting.empty())
      answer_joiners(waiting, s);
  }

  void answer_joiners(const std::vector<waiter_id>& waiting, const settle_cache& s) {
    cache_answer answer;
    answer.verdict.what = s.result ? verdict_kind::answered : verdict_kind::unavailable;
    if (s.result) {
      auto reduced = s.result->degraded != degradation::none ? s.result->content : s.answer;
      auto result = std::make_shared<request_result>(shared_with_others(*s.result, std::move(reduced)));
      if (result->ok())
        result->cached = true;
      describe_result(answer.verdict, *result);
      answer.result = std::move(result);
    }
    joiners.tell(self, waiting, answer);
  }

  void leader_down(const caf::down_msg& down) {
    const auto found = held.find(down.source);
    if (found == held.end())
      return;
    const auto lost = leads.extract(found->second);
    held.erase(found);
    promote(lost.mapped().place, lost.key());
  }

  // The first who joined leads.
  void promote(const cache_place& place, owner_token token) {
    while (const auto next = cache->lead_lost(place, token, now())) {
      token = next->heir.token;
      const auto heir = joiners.take(next->heir.waiter);
      if (!heir)
        continue;
      watch(heir, place, token);
      cache_answer answer;
      answer.verdict.what = verdict_kind::lead;
      answer.waiter = next->heir.waiter;
      answer.token = token;
      add_expired(answer, next->answer, next->age);
      self->send(heir, answer);
      return;
    }
  }
};

cache_actor::behavior_type cache_behavior(cache_actor::stateful_pointer<cache_state> self, cache_settings settings,
                                          std::shared_ptr<const services> shared) {
  auto& s = self->state;
  s.self = self;
  s.shared = std::move(shared);
  // The successor of a dead one must not give out its tokens again: it starts anywhere, with room to count on.
  s.cache = std::make_unique<response_cache>(kept_by(settings), (s.shared->random() >> 1) + 1);
  self->set_down_handler([&s](const caf::down_msg& down) { s.leader_down(down); });
  return {
      [&s](const look_up_cache& l) { return s.look_up(l); },
      [&s](const leave_cache& l) { s.leave(l); },
      [&s](const settle_cache& c) { s.settle(c); },
      [&s](const configure_cache& c) { s.cache->reconfigure(kept_by(c.settings)); },
      [&s](const describe_cache&) {
        return cache_description{s.cache->entries(), s.cache->bytes(), s.cache->in_flight()};
      },
  };
}

} // namespace

cache_actor spawn_cache(caf::actor_system& system, const cache_settings& settings,
                        std::shared_ptr<const services> shared) {
  return system.spawn(cache_behavior, settings, std::move(shared));
}

} // namespace switchyard
