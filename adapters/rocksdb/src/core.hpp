#pragma once

// The database that the stores share, and how it gets over failed writes.
//
// After a failed write, also one in the background, RocksDB refuses all further ones. `DB::Resume` is meant to end
// that, but up to 7.8 and later it leaves the log's writer in its failed state (facebook/rocksdb#11643, #12998), and
// the next write makes the failure final. So the database is closed and opened again instead, once its directory has
// room for that: what was written before is in its tables and its log.
//
// It seldom comes to that: with less free space than `open_hooks::floor` writes are refused before RocksDB meets the
// end of the disk, and what is in memory still finds room.

#include "open_database.hpp"

#include <rocksdb/write_batch.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <shared_mutex>

namespace switchyard::store {

class core {
public:
  /// `directory` is the one prepared by `prepare_store_directory`; `o.clock` is set.
  static store_result<std::shared_ptr<core>> open(const std::filesystem::path& directory, const options& o,
                                                  const open_hooks& hooks,
                                                  open_database::creation how = open_database::creation::allowed);

  core(const core&) = delete;
  core& operator=(const core&) = delete;

  /// The open database, which stays open as long as this is held.
  class lease {
  public:
    const open_database* operator->() const noexcept { return database_; }
    const open_database& operator*() const noexcept { return *database_; }

  private:
    friend class core;
    explicit lease(const core& c) : lock_(c.mutex_), database_(c.database_.get()) {}
    std::shared_lock<std::shared_mutex> lock_;
    const open_database* database_;
  };

  /// Fails when the database had to be closed and could not be opened again so far.
  store_result<lease> use() const;

  const options& settings() const noexcept { return options_; }
  wall_time now() const { return options_.clock(); }

  /// Writes all of what `fill` puts into the batch, or nothing. One that fails opens the database anew and tries once
  /// more, at most once in `resume_interval`.
  store_result<void> write(const std::function<void(rocksdb::WriteBatch&, const open_database&)>& fill, bool sync);

  /// Told after each column family how many of how many are done.
  store_result<void> compact(const std::function<void(std::uint64_t, std::uint64_t)>& on_progress = {});

  /// The first of `count` numbers that make telemetry keys of equal times differ, also across restarts: they start with
  /// the wall time of the opening.
  std::uint64_t take_sequences(std::uint64_t count) noexcept {
    return sequence_.fetch_add(count, std::memory_order_relaxed);
  }

  void count_unreadable() noexcept { unreadable_.fetch_add(1, std::memory_order_relaxed); }
  std::uint64_t unreadable() const noexcept { return unreadable_.load(std::memory_order_relaxed); }

private:
  core(std::filesystem::path directory, options o, const open_hooks& hooks);

  store_result<void> try_write(const std::function<void(rocksdb::WriteBatch&, const open_database&)>& fill, bool sync);
  bool reopen();
  bool has_room() const;
  bool is_nearly_full();
  void keep_retention_going(const open_database& database);

  std::filesystem::path directory_;
  options options_;
  open_hooks hooks_;
  mutable std::shared_mutex mutex_; ///< shared while the database is used, exclusive while it is replaced
  std::unique_ptr<open_database> database_;
  std::optional<store_error> closed_; ///< why there is no database
  std::atomic<std::uint64_t> sequence_, unreadable_{0};
  std::atomic<std::int64_t> next_reopen_{0}, next_flush_, next_space_look_{0}; ///< monotonic, nanoseconds
  std::atomic<bool> nearly_full_{false};
};

} // namespace switchyard::store
