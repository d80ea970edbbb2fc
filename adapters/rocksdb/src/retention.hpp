#pragma once

// Retention: what is expired leaves the disk when RocksDB rewrites the file that holds it, so dropping costs no pause
// and no scan of its own [H6, I12]. Reads hide it before that.

#include "switchyard/engine/time.hpp"

#include <rocksdb/compaction_filter.h>

#include <functional>
#include <memory>

namespace switchyard::store {

/// What a column family holds, hence where its entries' ages stand.
enum class contents : std::uint8_t { telemetry, telemetry_index, usage, answers };

/// Makes filters that drop what is expired by `clock` when a compaction begins. Answers carry their own life;
/// `retention` is for the others. Entries that cannot be understood stay.
std::shared_ptr<rocksdb::CompactionFilterFactory> make_retention_filter(contents what, duration retention,
                                                                        std::function<wall_time()> clock);

} // namespace switchyard::store
