#pragma once

// How RocksDB is set up. Every option that differs from RocksDB's default stands in database_options.cpp with its
// reason.

#include "open_hooks.hpp"

#include "switchyard/rocksdb/database.hpp"

#include <rocksdb/db.h>
#include <rocksdb/options.h>

#include <array>
#include <vector>

namespace switchyard::store {

/// The column families, in the order of `column_families`.
enum family : std::uint8_t {
  family_default,
  family_telemetry,
  family_index,
  family_answers,
  family_budgets,
  family_providers,
  family_usage,
  family_count
};

rocksdb::DBOptions database_options(const options& o, const open_hooks& hooks);

/// One descriptor per family. `o.clock` must be set.
std::vector<rocksdb::ColumnFamilyDescriptor> column_families(const options& o, const open_hooks& hooks);

} // namespace switchyard::store
