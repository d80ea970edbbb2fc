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
  return flights_.find(scope) != nullptr;
}

reserve_result idempotency_ledger::reserve(const reserve_request& r, std::shared_ptr<const stored_answer> stored,
                                           wall_time now) {
  using kind = reserve_result::kind;
  using interrupted_mode = idempotency_settings::interrupted_mode;
  if (const auto* running = flights_.find(r.scope)) {
    if (running->note.fingerprint != r.fingerprint) // before anything else [I3]
      return {kind::conflict, 0, false, nullptr};
    if (running->note.stream || r.stream || r.concurrent == idempotency_settings::concurrent_mode::reject)
      return {kind::in_flight, 0, false, nullptr};
    flights_.join(r.scope, r.waiter);
    return {kind::joined, 0, false, nullptr};
  }
  const bool known = stored && stored->alive(now);
  if (known && stored->fingerprint != r.fingerprint)
    return {kind::conflict, 0, false, nullptr};
  if (known && !stored->reserved)
    return {kind::replay, 0, false, std::move(stored)};
  if (known && r.on_interrupted == interrupted_mode::fail)
    return {kind::interrupted, 0, false, nullptr};
  const auto token =
      flights_.lead(r.scope, {r.fingerprint, r.stream, r.on_interrupted, known, known ? std::move(stored) : nullptr});
  return {kind::lead, token, known, nullptr};
}

bool idempotency_ledger::is_rerun(std::string_view scope) const {
  const auto* running = flights_.find(scope);
  return running && running->note.rerun;
}

std::optional<std::shared_ptr<const stored_answer>>
idempotency_ledger::record_after_failure(std::string_view scope) const {
  const auto* running = flights_.find(scope);
  if (running && running->note.rerun && !running->note.left)
    return std::nullopt;
  return running ? running->note.left : nullptr;
}

std::optional<std::vector<waiter_id>> idempotency_ledger::interrupt(std::string_view scope, owner_token token) {
  const auto* running = flights_.find(scope);
  if (!running || running->note.on_interrupted != idempotency_settings::interrupted_mode::fail)
    return std::nullopt;
  return flights_.complete(scope, token);
}

std::optional<flight_promotion> idempotency_ledger::lead_lost(std::string_view scope, owner_token token,
                                                              bool interrupted) {
  auto next = flights_.lead_lost(scope, token);
  if (next && interrupted)
    flights_.note(scope).rerun = true;
  return next;
}

} // namespace switchyard
