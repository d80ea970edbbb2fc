#pragma once

#include "database_options.hpp"

#include <rocksdb/db.h>

#include <array>
#include <filesystem>
#include <memory>

namespace switchyard::store {

/// One opening of the RocksDB database, closed when it goes. What is only in memory then is in its write-ahead log.
class open_database {
public:
  /// `read_only` neither locks nor writes.
  enum class creation : std::uint8_t { allowed, forbidden, read_only };

  static store_result<std::unique_ptr<open_database>> open(const std::filesystem::path& directory, const options& o,
                                                           const open_hooks& hooks, creation c);
  ~open_database();
  open_database(const open_database&) = delete;
  open_database& operator=(const open_database&) = delete;

  rocksdb::DB& db() const noexcept { return *db_; }
  rocksdb::ColumnFamilyHandle* handle(family f) const noexcept { return handles_[f]; }
  const std::array<rocksdb::ColumnFamilyHandle*, family_count>& handles() const noexcept { return handles_; }

private:
  open_database() = default;
  static store_result<std::unique_ptr<open_database>> open_read_only(const std::filesystem::path& directory,
                                                                     const options& o, const open_hooks& hooks);
  store_result<void> check_format();

  std::unique_ptr<rocksdb::DB> db_;
  std::array<rocksdb::ColumnFamilyHandle*, family_count> handles_{};
};

} // namespace switchyard::store
