#include "memory_stores.hpp"

#include <utility>

namespace switchyard {

store_result<std::shared_ptr<const stored_answer>> memory_answers::find(const std::string& scope) {
  std::lock_guard lock{mutex_};
  const auto found = records_.find(scope);
  return found == records_.end() ? nullptr : found->second.record;
}

store_result<void> memory_answers::write(std::span<const key_change> changes) {
  std::lock_guard lock{mutex_};
  for (const auto& change : changes) {
    const auto found = records_.find(change.scope);
    if (!change.record) {
      if (found != records_.end()) {
        order_.erase(found->second.number);
        records_.erase(found);
      }
    } else if (found != records_.end()) {
      found->second.record = change.record;
    } else {
      records_.emplace(change.scope, kept{change.record, next_});
      order_.emplace(next_++, change.scope);
    }
  }
  while (records_.size() > capacity) {
    records_.erase(order_.begin()->second);
    order_.erase(order_.begin());
  }
  return {};
}

} // namespace switchyard
