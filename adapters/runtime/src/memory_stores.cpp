#include "memory_stores.hpp"

namespace switchyard {

namespace {

std::size_t size_of(const key_change& c) {
  return c.scope.size() + c.record->content_type.size() + c.record->body.size();
}

} // namespace

store_result<std::shared_ptr<const stored_answer>> memory_answers::find(const std::string& scope) {
  std::lock_guard lock{mutex_};
  const auto found = by_scope_.find(scope);
  return found == by_scope_.end() ? nullptr : found->second->record;
}

store_result<void> memory_answers::write(std::span<const key_change> changes) {
  std::lock_guard lock{mutex_};
  for (const auto& change : changes) {
    if (const auto found = by_scope_.find(change.scope); found != by_scope_.end())
      forget(found->second);
    if (!change.record)
      continue;
    const auto added = entries_.insert(entries_.end(), change);
    by_scope_.emplace(added->scope, added);
    bytes_ += size_of(*added);
    while (entries_.size() > 1 && (entries_.size() > most_keys_ || bytes_ > most_bytes_))
      forget(entries_.begin());
  }
  return {};
}

void memory_answers::forget(entries::iterator entry) {
  bytes_ -= size_of(*entry);
  by_scope_.erase(entry->scope);
  entries_.erase(entry);
}

} // namespace switchyard
