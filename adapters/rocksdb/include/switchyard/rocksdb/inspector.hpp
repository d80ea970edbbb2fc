#pragma once

// A look into a store without changing it, also while a gateway has it open; and its cleaning. For tools.

#include "switchyard/actors/stores.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace switchyard::store {

/// Told now and then how many of about how many entries are done. Called on the calling thread.
using progress = std::function<void(std::uint64_t done, std::uint64_t about)>;

/// One column family; the figures are RocksDB's estimates.
struct family_figures {
  std::string name;
  std::uint64_t entries = 0, bytes = 0, files = 0;
};

struct store_figures {
  std::vector<family_figures> families;
  std::optional<wall_time> oldest_row, newest_row; ///< of telemetry
  std::uint64_t answers = 0;                       ///< of idempotency keys, that may still be replayed
  std::uint64_t reservations = 0;                  ///< in flight, or left over by a crash [I10]
  std::uint64_t expired = 0;                       ///< of either, still on the disk
};

/// Figures of all families together, as in family_figures: what was dropped is among what was there before, and so is
/// what had been overwritten or removed.
struct purge_result {
  std::uint64_t entries_before = 0, entries_after = 0;
  std::uint64_t bytes_before = 0, bytes_after = 0;
};

struct check_result {
  std::uint64_t entries = 0;         ///< read and understood
  std::vector<std::string> problems; ///< for a person; without keys and content. Empty: all is well
};

/// A store as it was when it was opened. Not thread-safe; all functions may take as long as the data is large.
class inspector {
public:
  virtual ~inspector() = default;

  /// Opens `data_dir`/store for reading; takes no lock. Fails with `io` when there is none, with `corrupt` when it
  /// cannot be opened.
  static store_result<std::unique_ptr<inspector>> open(const std::filesystem::path& data_dir);

  virtual store_result<store_figures> figures(const progress& on_progress) = 0;

  /// Verifies the checksums of all files and reads every entry.
  virtual store_result<check_result> check(const progress& on_progress) = 0;

  /// All telemetry rows of a request, newest first.
  virtual store_result<std::vector<telemetry_row>> rows_of(const std::string& request_id) = 0;
};

/// Drops what is expired and, with `older_than`, telemetry and usage of that age, then rewrites the files so that their
/// room is free. Fails with `locked` while another process has the store open. Progress counts column families.
store_result<purge_result> purge(const std::filesystem::path& data_dir, std::optional<duration> older_than,
                                 const progress& on_progress);

} // namespace switchyard::store
