#pragma once

// The stores on disk: the telemetry log and the answers of idempotency keys, in one RocksDB database below the
// data directory. No RocksDB type is visible here.

#include "switchyard/actors/stores.hpp"
#include "switchyard/engine/settings.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace switchyard::store {

/// How grave a message of the database is.
enum class log_level : std::uint8_t { warning, error };

/// How a database is opened.
struct options {
  /// Bytes of the cache of uncompressed blocks, shared by everything in the database. The database's memory is this
  /// plus at most 48 MiB of write buffers.
  std::uint64_t block_cache = 64ull << 20;

  /// Whether `answer_store::write` waits for the disk [I11]. Telemetry never does.
  idempotency_settings::durability_mode durability = idempotency_settings::durability_mode::process;

  /// How long telemetry is kept; > 0. Older rows are hidden at once and leave the disk within about a quarter of this.
  duration retention = 720h;

  /// Receives what the database has to say, from any thread, also from within calls. Must not block. May be empty.
  /// The messages hold no key and no content.
  std::function<void(log_level, const std::string&)> log;

  /// The wall clock for retention; thread-safe. Empty: the system's.
  std::function<wall_time()> clock;
};

/// An open database. Thread-safe. It is closed, and its directory unlocked, when the last of this object and the
/// stores taken from it is gone.
///
/// When writes fail, e.g. on a full disk (less than 16 MiB free), every write says so until one succeeds again; what
/// was written stays readable, and within a second after there is space writes succeed again [H7, I13].
class database {
public:
  virtual ~database() = default;

  /// Opens the database in `data_dir`/store; creates both when they do not exist. Fails with
  ///  - `locked`: another process, or another database object of this one, has it open;
  ///  - `corrupt`: what is there is not a whole store. The data files are left as they are;
  ///  - `full`, `io`: it cannot be read or written.
  static store_result<std::shared_ptr<database>> open(const std::filesystem::path& data_dir, const options& o);

  /// The telemetry log, indexed by time, provider and request id: what a query costs depends on its answer and not on
  /// the log. It reads at most 200,000 stored entries. On the disk a row of 200 to 500 bytes costs about 60 more for
  /// the indexes, before compression.
  virtual std::shared_ptr<telemetry_log> telemetry() = 0;

  /// The answers. `find` fails with `corrupt` when a stored answer cannot be read: whether its key may run again is not
  /// known.
  virtual std::shared_ptr<answer_store> answers() = 0;

  /// The state of budgets; not synced to the disk with each write, whatever the durability of answers: after a loss of
  /// power the last charges may be missing.
  virtual std::shared_ptr<budget_store> budgets() = 0;

  /// Stored entries that were passed over because they could not be read, since the database was opened.
  virtual std::uint64_t unreadable_entries() const noexcept = 0;

  /// Writes everything out and drops what is expired now, wholly. Takes as long as the data is large; for maintenance.
  virtual store_result<void> compact() = 0;
};

} // namespace switchyard::store
