#include "core.hpp"

#include "forwarding_logger.hpp"
#include "log_losses.hpp"
#include "status.hpp"

#include <chrono>
#include <mutex>

namespace switchyard::store {
namespace {

std::int64_t monotonic() {
  return std::chrono::steady_clock::now().time_since_epoch() / duration(1);
}

/// Whether `next` has passed; then, for one of several threads, sets it to `interval` from now.
bool take_turn(std::atomic<std::int64_t>& next, duration interval) {
  auto now = monotonic();
  auto due = next.load(std::memory_order_relaxed);
  return now >= due && next.compare_exchange_strong(due, now + interval.count(), std::memory_order_relaxed);
}

} // namespace

core::core(std::filesystem::path directory, options o, const open_hooks& hooks)
    : directory_(std::move(directory)),
      options_(std::move(o)),
      hooks_(hooks),
      sequence_(static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch() / duration(1))),
      next_flush_(monotonic() + hooks.flush_interval.count()) {}

store_result<std::shared_ptr<core>> core::open(const std::filesystem::path& directory, const options& o,
                                               const open_hooks& hooks, open_database::creation how) {
  std::shared_ptr<core> self(new core(directory, o, hooks));
  const auto losses = find_log_losses(directory); // before the opening, which may remove logs
  auto database = open_database::open(directory, o, hooks, how);
  if (!database)
    return database.error();
  self->database_ = std::move(*database);
  for (const auto& loss : losses)
    forwarding_logger(o.log).forward(log_level::warning, loss);
  return self;
}

store_result<core::lease> core::use() const {
  lease l(*this);
  if (l.database_)
    return l;
  return *closed_;
}

store_result<void> core::write(const std::function<void(rocksdb::WriteBatch&, const open_database&)>& fill, bool sync) {
  if (is_nearly_full())
    return store_error{store_error::kind::full, "the disk of " + directory_.string() + " has less than " +
                                                    std::to_string(hooks_.floor() >> 20) + " MiB free"};
  auto done = try_write(fill, sync);
  // Damage stays damage, however often it is opened.
  if (!done && done.error().what != store_error::kind::corrupt && reopen())
    done = try_write(fill, sync); // whatever the first one left behind is the same
  return done;
}

store_result<void> core::try_write(const std::function<void(rocksdb::WriteBatch&, const open_database&)>& fill,
                                   bool sync) {
  auto database = use();
  if (!database)
    return database.error();
  rocksdb::WriteBatch batch;
  fill(batch, **database);
  rocksdb::WriteOptions how;
  how.sync = sync; // concurrent synced writes share one sync: RocksDB commits them as a group
  if (auto s = (*database)->db().Write(how, &batch); !s.ok())
    return to_store_error("cannot write to the store in " + directory_.string(), s);
  keep_retention_going(**database);
  return {};
}

bool core::reopen() {
  if (!take_turn(next_reopen_, hooks_.resume_interval) || !has_room())
    return false;
  std::unique_lock lock(mutex_);
  database_.reset(); // gives the lock on the directory back
  auto database = open_database::open(directory_, options_, hooks_, open_database::creation::forbidden);
  if (!database) {
    closed_ = database.error();
    return false;
  }
  database_ = std::move(*database);
  return true;
}

bool core::is_nearly_full() {
  if (take_turn(next_space_look_, hooks_.space_interval)) {
    auto* env = hooks_.env ? hooks_.env : rocksdb::Env::Default();
    std::uint64_t free = 0;
    const bool known = env->GetFreeSpace(directory_.string(), &free).ok();
    nearly_full_.store(known && free < hooks_.floor(), std::memory_order_relaxed);
  }
  return nearly_full_.load(std::memory_order_relaxed);
}

// While the disk is full, the failed database stays open for reading; closing it is worth it only when it can be
// opened again, for which what is in memory may have to become tables.
bool core::has_room() const {
  constexpr std::uint64_t room = 1 << 20;
  std::uint64_t free = 0, in_memory = 0;
  if (auto database = use())
    (*database)->db().GetAggregatedIntProperty(rocksdb::DB::Properties::kCurSizeAllMemTables, &in_memory);
  auto* env = hooks_.env ? hooks_.env : rocksdb::Env::Default();
  if (env->GetFreeSpace(directory_.string(), &free).ok() && free < room + in_memory)
    return false;
  auto name = (directory_ / "probe.tmp").string();
  auto s = rocksdb::WriteStringToFile(env, std::string(room, '\0'), name, true);
  env->DeleteFile(name).PermitUncheckedError();
  return s.ok();
}

// RocksDB looks for files that are due to be rewritten only when it writes one, which a little traffic does once
// in days. Without any traffic nothing is added, and what is expired stays hidden on the disk until the next write.
void core::keep_retention_going(const open_database& database) {
  if (!take_turn(next_flush_, hooks_.flush_interval))
    return;
  rocksdb::FlushOptions how;
  how.wait = false;
  how.allow_write_stall = true; // or it would wait here for a moment without one
  const auto& handles = database.handles();
  database.db().Flush(how, {handles.begin(), handles.end()}).PermitUncheckedError();
}

store_result<void> core::compact(const std::function<void(std::uint64_t, std::uint64_t)>& on_progress) {
  auto database = use();
  if (!database)
    return database.error();
  std::uint64_t done = 0;
  for (auto* handle : (*database)->handles()) {
    rocksdb::CompactRangeOptions how;
    how.bottommost_level_compaction =
        rocksdb::BottommostLevelCompaction::kForceOptimized; // or the filter would not see it
    if (auto s = (*database)->db().CompactRange(how, handle, nullptr, nullptr); !s.ok())
      return to_store_error("cannot compact the store in " + directory_.string(), s);
    if (on_progress)
      on_progress(++done, (*database)->handles().size());
  }
  return {};
}

} // namespace switchyard::store
