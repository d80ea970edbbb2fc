#pragma once

#include "switchyard/actors/stores.hpp"

#include <cstddef>
#include <deque>
#include <mutex>
#include <unordered_map>

namespace switchyard {

/// Answers of idempotency keys for a runtime without a data directory: bounded, the oldest go first. Thread-safe.
class memory_answers : public answer_store {
public:
  static constexpr std::size_t capacity = 100'000;

  store_result<std::shared_ptr<const stored_answer>> find(const std::string& scope) override;
  store_result<void> put(const std::string& scope, const stored_answer& answer) override;

private:
  std::mutex mutex_; ///< shards run on threads of their own
  std::unordered_map<std::string, std::shared_ptr<const stored_answer>> answers_;
  std::deque<std::string> order_;
};

} // namespace switchyard
