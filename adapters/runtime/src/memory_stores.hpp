#pragma once

#include "switchyard/actors/stores.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <unordered_map>

namespace switchyard {

/// What is stored of idempotency keys in a runtime without a data directory: bounded, the oldest go first. Thread-safe.
class memory_answers : public answer_store {
public:
  static constexpr std::size_t capacity = 100'000;

  store_result<std::shared_ptr<const stored_answer>> find(const std::string& scope) override;
  store_result<void> write(std::span<const key_change> changes) override;

private:
  struct kept {
    std::shared_ptr<const stored_answer> record;
    std::uint64_t number = 0; ///< in `order_`
  };

  std::mutex mutex_; ///< shards run on threads of their own
  std::unordered_map<std::string, kept> records_;
  std::map<std::uint64_t, std::string> order_; ///< by age of the key
  std::uint64_t next_ = 0;
};

} // namespace switchyard
