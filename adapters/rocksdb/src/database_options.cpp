#include "database_options.hpp"

#include "forwarding_logger.hpp"
#include "retention.hpp"
#include "usage_merge.hpp"

#include <rocksdb/cache.h>
#include <rocksdb/convenience.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/listener.h>
#include <rocksdb/table.h>

#include <algorithm>
#include <chrono>

namespace switchyard::store {
namespace {

/// LZ4 costs next to nothing and halves telemetry, whose names repeat; without it none, rather than a slower one
/// on the way of every write. Distributions build RocksDB with different sets.
rocksdb::CompressionType fast_compression() {
  auto have = rocksdb::GetSupportedCompressions();
  auto has = [&](rocksdb::CompressionType t) { return std::ranges::find(have, t) != have.end(); };
  return has(rocksdb::kLZ4Compression) ? rocksdb::kLZ4Compression : rocksdb::kNoCompression;
}

/// ZSTD for the last level: nine tenths of the data lie there, are written once or twice and seldom read.
rocksdb::CompressionType dense_compression() {
  auto have = rocksdb::GetSupportedCompressions();
  bool has = std::ranges::find(have, rocksdb::kZSTD) != have.end();
  return has ? rocksdb::kZSTD : fast_compression();
}

/// Leaves it to `core` to get over a full disk; RocksDB's own attempt would run beside it.
class manual_recovery final : public rocksdb::EventListener {
public:
  void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason, rocksdb::Status, bool* auto_recovery) override {
    *auto_recovery = false;
  }
};

rocksdb::BlockBasedTableOptions table_options(std::shared_ptr<rocksdb::Cache> cache) {
  rocksdb::BlockBasedTableOptions t;
  t.block_cache = std::move(cache); // one for all families: its size bounds the memory of reads
  // Index and filter blocks live in the cache too, else they would grow with the number of files, without a bound;
  // those of the newest files stay, as every read asks them.
  t.cache_index_and_filter_blocks = true;
  t.pin_l0_filter_and_index_blocks_in_cache = true;
  t.block_size = 16 << 10; // records are 200-500 bytes and read in runs; compresses better than the default of 4 KiB
  return t;
}

std::uint64_t seconds(duration d) {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(d).count());
}

rocksdb::ColumnFamilyOptions family_options(const rocksdb::BlockBasedTableOptions& t, const open_hooks& hooks) {
  rocksdb::ColumnFamilyOptions o;
  o.table_factory.reset(rocksdb::NewBlockBasedTableFactory(t));
  // Two small buffers bound the memory, the time to replay the write-ahead log at start and the room that a flush needs
  // on a disk that was full; RocksDB's 64 MiB serve
  // heavier writers.
  o.write_buffer_size = hooks.write_buffer;
  o.max_write_buffer_number = 2;
  o.compression = fast_compression();
  o.bottommost_compression = dense_compression();
  // Levels sized from the bottom up: little space is wasted on what is expired or written twice, at any size.
  o.level_compaction_dynamic_level_bytes = true;
  o.max_bytes_for_level_base = 32 << 20;
  o.target_file_size_base = 16 << 20; // small steps: a compaction never holds the disk for long
  return o;
}

} // namespace

rocksdb::DBOptions database_options(const options& o, const open_hooks& hooks) {
  rocksdb::DBOptions d;
  if (hooks.env)
    d.env = hooks.env;
  d.info_log = std::make_shared<forwarding_logger>(o.log); // hence no LOG file
  d.info_log_level = rocksdb::InfoLogLevel::WARN_LEVEL;
  d.listeners.push_back(std::make_shared<manual_recovery>());
  d.paranoid_checks = true;
  // A kill -9 may cut the last record of the log, nothing else; damage before the end is an error, as it may hide
  // answers that were given. (The default would silently drop all that follows the damage.)
  d.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  // Opening again after a full disk must not need room for what the log already holds. Bounded by the log's size.
  d.avoid_flush_during_recovery = true;
  d.allow_fallocate = false;       // or megabytes are set aside for every log
  d.recycle_log_file_num = 0;      // a recycled log's old tail could not be told from damage
  d.max_total_wal_size = 32 << 20; // an idle family must not keep the log of busy ones for ever; bounds replay at start
  d.max_background_jobs = 2;       // one flush, one compaction: the cores belong to requests
  d.max_open_files = 512;          // bounded descriptors, whatever the size
  d.max_file_opening_threads = 2;
  d.stats_dump_period_sec = 0; // no statistics thread, nobody reads them
  d.stats_persist_period_sec = 0;
  d.avoid_unnecessary_blocking_io = true; // obsolete files are deleted in the background, not by a reader
  d.bytes_per_sync = 1 << 20;             // write-back in small steps instead of one burst that stalls synced writes
  d.max_manifest_file_size = 16 << 20;    // replayed at start; the default of 1 GiB is for larger machines
  d.manifest_preallocation_size = 64 << 10;
  return d;
}

std::vector<rocksdb::ColumnFamilyDescriptor> column_families(const options& o, const open_hooks& hooks) {
  auto cache = rocksdb::NewLRUCache(static_cast<std::size_t>(o.block_cache));
  auto plain = table_options(cache);
  auto filtered = plain;
  // A key that was never used is the common case of `find`, and a filter answers it without the disk. One in a thousand
  // is wrong at 15 bits a key of a Bloom filter; with one in a hundred, at the usual 10, the slowest hundredth of all
  // look-ups would read a block for nothing. A Ribbon filter is as good with a third less memory, and files are built
  // in the background.
  filtered.filter_policy.reset(rocksdb::NewRibbonFilterPolicy(15));
  // In pieces of 4 KiB, of which the cache holds those in use. Whole, the filter of a file with a million short answers
  // is larger than a shard of the cache, which then never holds it: every look-up would read it from the file.
  filtered.partition_filters = true;
  filtered.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
  filtered.metadata_block_size = 4096;
  // An answer is read alone: less to decompress for it. Not less than this, or the index grows and takes the cache from
  // the filters.
  filtered.block_size = 8 << 10;

  auto meta = family_options(plain, hooks);
  meta.write_buffer_size = 64 << 10; // holds next to nothing

  // A file is rewritten, and loses what is expired, at the latest when it has this age. A quarter of the life
  // rewrites data four times and keeps at most a quarter more than wanted. Answers live for hours to days, each its own
  // time.
  auto telemetry = family_options(plain, hooks);
  telemetry.compaction_filter_factory = make_retention_filter(contents::telemetry, o.retention, o.clock);
  telemetry.periodic_compaction_seconds = std::clamp<std::uint64_t>(seconds(o.retention) / 4, 60, 7 * 86'400);

  auto index = telemetry;
  index.write_buffer_size = hooks.write_buffer / 2;
  index.compaction_filter_factory = make_retention_filter(contents::telemetry_index, o.retention, o.clock);

  auto usage = telemetry; // sums of an hour, each added to again and again: few, and small
  usage.write_buffer_size = hooks.write_buffer / 8;
  usage.compaction_filter_factory = make_retention_filter(contents::usage, o.retention, o.clock);
  usage.merge_operator = std::make_shared<usage_merge>();

  // A few ledgers, each written again and again: the buffer must not fill so fast that a flush has to be waited for.
  auto budgets = family_options(plain, hooks);
  budgets.write_buffer_size = hooks.write_buffer / 4;
  budgets.max_write_buffer_number = 3;

  auto answers = family_options(filtered, hooks);
  answers.compaction_filter_factory = make_retention_filter(contents::answers, o.retention, o.clock);
  answers.periodic_compaction_seconds = 12 * 3'600;

  return {{rocksdb::kDefaultColumnFamilyName, meta},
          {"telemetry", telemetry},
          {"telemetry_by_request", index},
          {"answers", answers},
          {"budgets", budgets},
          {"telemetry_by_provider", index},
          {"usage", usage}};
}

} // namespace switchyard::store
