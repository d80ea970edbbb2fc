#pragma once

// What tests need to change and users do not. Not installed.

#include "switchyard/rocksdb/database.hpp"

#include <rocksdb/env.h>

namespace switchyard::store {

struct open_hooks {
  rocksdb::Env* env = nullptr;        ///< files and clock of RocksDB; null: the system's. Must outlive the database
  duration resume_interval = 1s;      ///< at most one attempt to get over a failed write in this time
  duration space_interval = 100ms;    ///< how often the free space of the disk is looked at
  duration flush_interval = 1h;       ///< see core::keep_retention_going
  std::size_t write_buffer = 8 << 20; ///< bytes

  /// With less free space nothing is written: what is in memory must still find room on the disk.
  std::uint64_t floor() const noexcept { return 2 * static_cast<std::uint64_t>(write_buffer); }
};

store_result<std::shared_ptr<database>> open_with(const std::filesystem::path& data_dir, options o,
                                                  const open_hooks& hooks);

} // namespace switchyard::store
