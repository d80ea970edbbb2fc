#include "switchyard/actors/cache.hpp"

#include "joiners.hpp"

#include <caf/actor_cast.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <map>
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
  result->stale = stale;
  result->age = age;
  return result;
}

struct cache_state {
  static inline const char* name = "switchyard.cache";

  struct lead {
    cache_place place;
    owner_token token;
  };

  cache_actor::stateful_pointer<cache_state> self = nullptr;
  std::shared_ptr<const services> shared;
  std::unique_ptr<response_cache> cache;
  switchyard::joiners joiners;
  std::map<caf::actor_addr, lead> leads;

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
      if (found.answer) {
        answer.verdict.stale = true;
        answer.verdict.status = found.answer->status;
        answer.result = cached_result(std::move(found.answer), found.age, true);
      }
      break;
    }
    return answer;
  }

  void watch(const request_actor& leader, const cache_place& place, owner_token token) {
    if (!leader)
      return;
    self->monitor(leader);
    leads[leader.address()] = {place, token};
  }

  void leave(const leave_cache& l) {
    cache->leave(l.place, l.waiter);
    joiners.remove(l.waiter);
  }

  // Comes from a request actor, or in its name: the token says whose it is.
  void settle(const settle_cache& s) {
    std::erase_if(leads, [&](const auto& held) {
      const bool done = held.second.token == s.token;
      if (done)
        self->demonitor(held.first);
      return done;
    });
    // One caller's impatience is not the others' failure.
    const auto failure = s.result ? s.result->failure : std::optional<failure_class>{};
    if (failure == failure_class::deadline || failure == failure_class::cancelled)
      return promote({s.place, s.token});
    const auto waiting = cache->settle(s.place, s.token, s.answer, now());
    if (!waiting.empty())
      answer_joiners(waiting, s);
  }

  void answer_joiners(const std::vector<waiter_id>& waiting, const settle_cache& s) {
    cache_answer answer;
    answer.verdict.what = s.result ? verdict_kind::answered : verdict_kind::unavailable;
    if (s.result) {
      auto result = std::make_shared<request_result>(shared_with_others(*s.result));
      if (result->ok())
        result->cached = true;
      answer.verdict.status = status_of(*result);
      answer.verdict.failure = result->failure;
      if (result->what == request_result::kind::own_error)
        answer.verdict.code = result->code;
      answer.result = std::move(result);
    }
    joiners.tell(self, waiting, answer);
  }

  void leader_down(const caf::down_msg& down) {
    const auto found = leads.find(down.source);
    if (found == leads.end())
      return;
    const auto lost = std::move(found->second);
    leads.erase(found);
    promote(lost);
  }

  // The first who joined leads.
  void promote(lead lost) {
    while (const auto next = cache->lead_lost(lost.place, lost.token)) {
      lost.token = next->token;
      const auto heir = joiners.take(next->waiter);
      if (!heir)
        continue;
      watch(heir, lost.place, lost.token);
      cache_answer answer;
      answer.verdict.what = verdict_kind::lead;
      answer.waiter = next->waiter;
      answer.token = lost.token;
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
  s.cache = std::make_unique<response_cache>(settings, (s.shared->random() >> 1) + 1);
  self->set_down_handler([&s](const caf::down_msg& down) { s.leader_down(down); });
  return {
      [&s](const look_up_cache& l) { return s.look_up(l); },
      [&s](const leave_cache& l) { s.leave(l); },
      [&s](const settle_cache& c) { s.settle(c); },
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
