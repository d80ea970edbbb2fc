#include "switchyard/engine/response_cache.hpp"

#include <utility>

namespace switchyard {

response_cache::response_cache(const cache_settings& settings, owner_token first_token)
    : settings_(settings), flights_(first_token) {}

response_cache::finding response_cache::look_up(const cache_place& place, const cache_directives& wish,
                                                waiter_id waiter, time_point now) {
  using kind = finding::kind;
  finding found;
  if (const auto it = find(place.key, now); !wish.want_fresh() && it != entries_.end()) {
    const auto age = now - it->stored_at;
    if (!wish.max_age || age <= *wish.max_age) {
      found.answer = it->answer;
      found.age = age;
      if (age < settings_.ttl) {
        entries_.splice(entries_.begin(), entries_, it);
        found.what = kind::hit;
        return found;
      }
    }
  }
  const bool has_expired = found.answer != nullptr;
  if (const auto running = joinable(place, wish, has_expired)) {
    flights_.join(*running, waiter);
    return {kind::joined, 0, nullptr, {}};
  }
  auto flight = flight_key(place, has_expired);
  if (flights_.find(flight)) { // of one who wants a fresh answer
    found.token = flights_.take_token();
    alone_.insert(found.token);
  } else {
    found.token = flights_.lead(flight, {});
  }
  return found;
}

std::string response_cache::flight_key(const cache_place& place, bool has_expired) {
  return place.key + (place.fallback ? '\1' : '\0') + (has_expired ? '\1' : '\0');
}

// The call whose answer will do, whatever it comes to.
std::optional<std::string> response_cache::joinable(const cache_place& place, const cache_directives& wish,
                                                    bool has_expired) const {
  if (wish.want_fresh())
    return std::nullopt;
  if (has_expired || !wish.max_age)
    if (auto flight = flight_key(place, true); flights_.find(flight))
      return flight;
  if (!has_expired)
    if (auto flight = flight_key(place, false); flights_.find(flight))
      return flight;
  return std::nullopt;
}

std::vector<waiter_id> response_cache::settle(const cache_place& place, owner_token token,
                                              std::shared_ptr<const answer_payload> answer, time_point now) {
  std::vector<waiter_id> waiting;
  if (alone_.erase(token) == 0) {
    auto completed = flights_.complete(flight_key(place, false), token);
    if (!completed)
      completed = flights_.complete(flight_key(place, true), token);
    if (!completed)
      return waiting;
    waiting = *std::move(completed);
  }
  if (answer)
    keep(place.key, std::move(answer), now);
  return waiting;
}

std::optional<response_cache::succession> response_cache::lead_lost(const cache_place& place, owner_token token,
                                                                    time_point now) {
  alone_.erase(token);
  if (const auto heir = flights_.lead_lost(flight_key(place, false), token))
    return succession{*heir, nullptr, {}};
  const auto heir = flights_.lead_lost(flight_key(place, true), token);
  if (!heir)
    return std::nullopt;
  succession next{*heir, nullptr, {}};
  if (const auto it = find(place.key, now); it != entries_.end() && now - it->stored_at >= settings_.ttl) {
    next.answer = it->answer;
    next.age = now - it->stored_at;
  }
  return next;
}

void response_cache::leave(const cache_place& place, waiter_id waiter) {
  flights_.leave(flight_key(place, false), waiter);
  flights_.leave(flight_key(place, true), waiter);
}

// What can no longer be served in any way goes when it is met; what is never asked for again goes as the least recently
// used.
response_cache::entry_list::iterator response_cache::find(const std::string& key, time_point now) {
  const auto found = by_key_.find(key);
  if (found == by_key_.end())
    return entries_.end();
  const auto it = found->second;
  if (now < plus(plus(it->stored_at, settings_.ttl), settings_.stale_if_error))
    return it;
  erase(it);
  return entries_.end();
}

void response_cache::keep(const std::string& key, std::shared_ptr<const answer_payload> answer, time_point now) {
  if (const auto old = by_key_.find(key); old != by_key_.end())
    erase(old->second);
  const auto cost = entry_overhead + key.size() + answer->headers.text().size() + answer->body.size();
  if (cost > settings_.max_bytes)
    return;
  shrink_to(settings_.max_bytes - cost);
  entries_.push_front({key, std::move(answer), now, cost});
  by_key_.emplace(entries_.front().key, entries_.begin());
  bytes_ += cost;
}

void response_cache::reconfigure(const cache_settings& settings) {
  settings_ = settings;
  shrink_to(settings_.max_bytes);
}

void response_cache::shrink_to(std::uint64_t bytes) {
  while (bytes_ > bytes)
    erase(std::prev(entries_.end()));
}

void response_cache::erase(entry_list::iterator it) {
  bytes_ -= it->cost;
  by_key_.erase(it->key);
  entries_.erase(it);
}

} // namespace switchyard
