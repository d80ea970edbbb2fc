#pragma once

// What a shard of the idempotency ledger has still to write. Changes are collected and written all at once: one write,
// and with `power` one sync, serves many keys [I11]. What depends on a write is told after it.

#include "switchyard/actors/stores.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace switchyard {

/// The changes of one shard's keys on their way into the store. Not thread-safe; `find` and `commit` block on the
/// store.
class key_journal {
public:
  /// Hears whether a commit was written.
  using continuation = std::function<void(bool written)>;

  explicit key_journal(std::shared_ptr<answer_store> store = nullptr) : store_(std::move(store)) {}

  /// What the store has of a key; nothing of one that was set free. Changes that are not committed do not show. A store
  /// that throws has failed.
  store_result<std::shared_ptr<const stored_answer>> find(const std::string& scope) const;

  /// Has a change written with the next commit, in order, and `after` called then.
  void add(key_change c, continuation after);

  /// Whether a change of this key waits for the next commit.
  bool has(const std::string& scope) const;

  /// Has `f` called after the next commit.
  void then(continuation f) { then_.push_back(std::move(f)); }

  /// Whether so much waits that it is time for a commit.
  bool full() const noexcept;

  /// Nothing is left of this key, whatever the store has: what the store does not know yet is written with every commit
  /// until one succeeds, so that a failure that is known is not taken for an interruption [I6, I13].
  void set_free(const std::string& scope);

  /// The same of a key whose reservation could not be written, which may have got to the disk all the same; gives way
  /// to those of which a failure is known.
  void set_unused(const std::string& scope);

  /// Writes all that waits, or nothing of it, and tells those who depend on it, who may add further changes.
  store_result<void> commit();

  /// Tells those who depend on the next commit that there will be none.
  void abandon();

private:
  void tell(bool written);

  std::shared_ptr<answer_store> store_;
  std::vector<key_change> changes_;
  std::vector<continuation> then_;
  std::size_t bytes_ = 0;      ///< of `changes_`
  std::set<std::string> free_; ///< keys that are free, which is still to be written
};

} // namespace switchyard
