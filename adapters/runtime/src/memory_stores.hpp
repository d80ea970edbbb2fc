#pragma once

#include "switchyard/actors/stores.hpp"

#include <cstddef>
#include <list>
#include <mutex>
#include <string_view>
#include <unordered_map>

namespace switchyard {

/// What is stored of idempotency keys in a runtime without a data directory. Bounded in number and in bytes: those
/// written longest ago go first. Thread-safe.
class memory_answers : public answer_store {
public:
  static constexpr std::size_t default_keys = 100'000;
  static constexpr std::size_t default_bytes = 256u << 20;

  /// `most_bytes` is of scopes and answers; the key written last stays, whatever its size.
  explicit memory_answers(std::size_t most_keys = default_keys, std::size_t most_bytes = default_bytes)
      : most_keys_(most_keys), most_bytes_(most_bytes) {}

  store_result<std::shared_ptr<const stored_answer>> find(const std::string& scope) override;
  store_result<void> write(std::span<const key_change> changes) override;

private:
  using entries = std::list<key_change>; ///< by the age of the write

  void forget(entries::iterator entry);

  const std::size_t most_keys_, most_bytes_;
  std::mutex mutex_; ///< shards run on threads of their own
  entries entries_;
  std::unordered_map<std::string_view, entries::iterator> by_scope_; ///< the views are of `entries_`
  std::size_t bytes_ = 0;
};

} // namespace switchyard
