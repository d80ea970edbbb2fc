#include "switchyard/engine/idempotency_ledger.hpp"

#include <algorithm>
#include <utility>

namespace switchyard {

std::string idempotency_scope::str() const {
  std::string text;
  text.reserve(tenant.size() + path.size() + key.size() + 2);
  text.append(tenant).push_back('\0');
  text.append(path).push_back('\0');
  return text.append(key);
}

bool valid_idempotency_key(std::string_view key) noexcept {
  constexpr std::size_t longest = 255;
  return !key.empty() && key.size() <= longest &&
         std::ranges::all_of(key, [](char c) { return c >= 0x21 && c <= 0x7E; });
}

bool stored_answer::alive(wall_time now) const noexcept {
  if (ttl <= duration::zero())
    return false;
  // Unsigned, because times read from a disk may be anything and their difference must not overflow.
  const auto since_epoch = [](wall_time t) { return static_cast<std::uint64_t>(t.time_since_epoch().count()); };
  const auto limit = static_cast<std::uint64_t>(ttl.count());
  if (now >= stored_at)
    return since_epoch(now) - since_epoch(stored_at) < limit;
  return since_epoch(stored_at) - since_epoch(now) <= limit; // [C18]
}

bool idempotency_ledger::in_flight(std::string_view scope) const {
  return entries_.find(scope) != entries_.end();
}

reserve_result idempotency_ledger::reserve(const reserve_request& r, std::shared_ptr<const stored_answer> stored,
                                           wall_time now) {
  using kind = reserve_result::kind;
  if (const auto found = entries_.find(r.scope); found != entries_.end()) {
    auto& running = found->second;
    if (running.fingerprint != r.fingerprint) // before anything else [I3]
      return {kind::conflict, 0, nullptr};
    if (running.stream || r.stream || r.concurrent == idempotency_settings::concurrent_mode::reject)
      return {kind::in_flight, 0, nullptr};
    running.waiters.push_back(r.waiter);
    return {kind::joined, 0, nullptr};
  }
  if (stored && stored->alive(now)) {
    if (stored->fingerprint != r.fingerprint)
      return {kind::conflict, 0, nullptr};
    return {kind::replay, 0, std::move(stored)};
  }
  const auto token = next_token_++;
  entries_.emplace(r.scope, entry{r.fingerprint, token, r.stream, {}});
  return {kind::lead, token, nullptr};
}

bool idempotency_ledger::leads(std::string_view scope, owner_token token) const {
  const auto found = entries_.find(scope);
  return found != entries_.end() && found->second.token == token;
}

std::optional<std::vector<waiter_id>> idempotency_ledger::complete(std::string_view scope, owner_token token) {
  const auto found = entries_.find(scope);
  if (found == entries_.end() || found->second.token != token)
    return std::nullopt;
  const auto& waiters = found->second.waiters;
  std::vector<waiter_id> to_answer(waiters.begin(), waiters.end());
  entries_.erase(found);
  return to_answer;
}

std::optional<idempotency_ledger::promotion> idempotency_ledger::lead_lost(std::string_view scope, owner_token token) {
  const auto found = entries_.find(scope);
  if (found == entries_.end() || found->second.token != token)
    return std::nullopt;
  auto& running = found->second;
  if (running.waiters.empty()) {
    entries_.erase(found);
    return std::nullopt;
  }
  const auto heir = running.waiters.front();
  running.waiters.pop_front();
  running.token = next_token_++;
  return promotion{heir, running.token};
}

void idempotency_ledger::leave(std::string_view scope, waiter_id waiter) {
  if (const auto found = entries_.find(scope); found != entries_.end())
    std::erase(found->second.waiters, waiter);
}

} // namespace switchyard
