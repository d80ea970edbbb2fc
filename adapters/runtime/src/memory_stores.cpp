#include "memory_stores.hpp"

#include <utility>

namespace switchyard {

store_result<std::shared_ptr<const stored_answer>> memory_answers::find(const std::string& scope) {
  std::lock_guard lock{mutex_};
  const auto found = answers_.find(scope);
  return found == answers_.end() ? nullptr : found->second;
}

store_result<void> memory_answers::put(const std::string& scope, const stored_answer& answer) {
  std::lock_guard lock{mutex_};
  if (!answers_.insert_or_assign(scope, std::make_shared<const stored_answer>(answer)).second)
    return {};
  order_.push_back(scope);
  if (order_.size() > capacity) {
    answers_.erase(order_.front());
    order_.pop_front();
  }
  return {};
}

} // namespace switchyard
