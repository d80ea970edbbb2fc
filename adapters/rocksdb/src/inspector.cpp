#include "switchyard/rocksdb/inspector.hpp"

#include "codec.hpp"
#include "core.hpp"
#include "keys.hpp"
#include "status.hpp"
#include "telemetry_store.hpp"

#include <chrono>
#include <utility>

namespace switchyard::store {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t progress_step = 10'000;

wall_time system_time() {
  return wall_time(std::chrono::system_clock::now().time_since_epoch());
}

store_result<fs::path> existing_store(const fs::path& data_dir) {
  auto where = data_dir / "store";
  std::error_code failed;
  if (fs::exists(where / "CURRENT", failed))
    return where;
  const auto why = failed ? failed.message() : std::string{"no file CURRENT"};
  return store_error{store_error::kind::io, "there is no store in " + where.string() + " (" + why + ")"};
}

options quiet_options(std::optional<duration> retention) {
  options o;
  // As good as for ever, and far from what times can hold.
  o.retention = retention.value_or(std::chrono::hours(24 * 365 * 100));
  o.clock = system_time;
  return o;
}

std::uint64_t property(const open_database& database, rocksdb::ColumnFamilyHandle* handle, const std::string& name) {
  std::uint64_t value = 0;
  database.db().GetIntProperty(handle, name, &value);
  return value;
}

std::vector<family_figures> families_of(const open_database& database) {
  std::vector<family_figures> all;
  for (auto* handle : database.handles()) {
    family_figures f;
    f.name = handle->GetName();
    f.entries = property(database, handle, rocksdb::DB::Properties::kEstimateNumKeys);
    rocksdb::ColumnFamilyMetaData files;
    database.db().GetColumnFamilyMetaData(handle, &files);
    f.bytes = files.size + property(database, handle, rocksdb::DB::Properties::kCurSizeAllMemTables);
    f.files = files.file_count;
    all.push_back(std::move(f));
  }
  return all;
}

store_result<void> add_up(const core& c, std::uint64_t& entries, std::uint64_t& bytes) {
  const auto database = c.use();
  if (!database)
    return database.error();
  for (const auto& f : families_of(**database)) {
    entries += f.entries;
    bytes += f.bytes;
  }
  return {};
}

bool understood(family f, std::string_view key, std::string_view value) {
  switch (f) {
  case family_telemetry:
    return time_of_telemetry_key(key) && (decode_record(value) || decode_late_attempt(value));
  case family_index:
  case family_providers:
    return time_of_telemetry_key(telemetry_key_of_index(key)).has_value();
  case family_answers:
    return decode_answer(value).has_value();
  case family_budgets:
    return decode_budget(value).has_value();
  case family_usage:
    return parse_usage_key(key) && decode_usage(value);
  default:
    return true; // the format's number was read by the opening
  }
}

class rocksdb_inspector final : public inspector {
public:
  explicit rocksdb_inspector(std::shared_ptr<core> c) : core_(std::move(c)), telemetry_(make_telemetry_store(core_)) {}

  store_result<store_figures> figures(const progress& on_progress) override;
  store_result<check_result> check(const progress& on_progress) override;

  store_result<std::vector<telemetry_row>> rows_of(const std::string& request_id) override {
    telemetry_query q;
    q.request_id = request_id;
    q.limit = 10'000;
    return telemetry_->query(q);
  }

private:
  /// Reads a whole family; whether RocksDB could.
  rocksdb::Status walk(const open_database& database, family f, std::uint64_t before, std::uint64_t about,
                       const progress& on_progress,
                       const std::function<void(std::string_view key, std::string_view value)>& each) const;
  static std::uint64_t entries_of(const open_database& database, family f) {
    return property(database, database.handle(f), rocksdb::DB::Properties::kEstimateNumKeys);
  }

  std::shared_ptr<core> core_;
  std::shared_ptr<telemetry_log> telemetry_;
};

rocksdb::Status
rocksdb_inspector::walk(const open_database& database, family f, std::uint64_t before_it, std::uint64_t about,
                        const progress& on_progress,
                        const std::function<void(std::string_view key, std::string_view value)>& each) const {
  rocksdb::ReadOptions how;
  how.fill_cache = false; // each entry is read once
  std::unique_ptr<rocksdb::Iterator> it(database.db().NewIterator(how, database.handle(f)));
  std::uint64_t done = before_it;
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    each(it->key().ToStringView(), it->value().ToStringView());
    if (++done % progress_step == 0 && on_progress)
      on_progress(done, std::max(done, about));
  }
  return it->status();
}

store_result<store_figures> rocksdb_inspector::figures(const progress& on_progress) {
  auto leased = core_->use();
  if (!leased)
    return leased.error();
  const open_database& database = **leased;
  store_figures all;
  all.families = families_of(database);
  std::unique_ptr<rocksdb::Iterator> it(database.db().NewIterator({}, database.handle(family_telemetry)));
  if (it->SeekToFirst(); it->Valid())
    all.oldest_row = time_of_telemetry_key(it->key().ToStringView());
  if (it->SeekToLast(); it->Valid())
    all.newest_row = time_of_telemetry_key(it->key().ToStringView());
  if (!it->status().ok())
    return to_store_error("cannot read telemetry", it->status());
  const auto now = system_time();
  const auto read = walk(database, family_answers, 0, entries_of(database, family_answers), on_progress,
                         [&](std::string_view, std::string_view value) {
                           const auto age = decode_answer_age(value);
                           stored_answer lives;
                           lives.stored_at = age ? age->stored_at : wall_time{};
                           lives.ttl = age ? age->ttl : duration::zero();
                           if (!lives.alive(now))
                             ++all.expired;
                           else if (layout_of(value) == layout::reservation)
                             ++all.reservations;
                           else
                             ++all.answers;
                         });
  if (!read.ok())
    return to_store_error("cannot read the answers", read);
  return all;
}

store_result<check_result> rocksdb_inspector::check(const progress& on_progress) {
  auto leased = core_->use();
  if (!leased)
    return leased.error();
  const open_database& database = **leased;
  check_result result;
  if (const auto s = database.db().VerifyChecksum(); !s.ok())
    result.problems.push_back("a file is damaged: " + s.ToString());
  std::uint64_t about = 0, done = 0;
  for (int f = 0; f < family_count; ++f)
    about += entries_of(database, static_cast<family>(f));
  for (int i = 0; i < family_count; ++i) {
    const auto f = static_cast<family>(i);
    std::uint64_t bad = 0;
    const auto read = walk(database, f, done, about, on_progress, [&](std::string_view key, std::string_view value) {
      ++done;
      bad += !understood(f, key, value);
    });
    const auto name = database.handle(f)->GetName();
    if (bad > 0)
      result.problems.push_back(name + ": " + std::to_string(bad) + " entries cannot be understood");
    if (!read.ok())
      result.problems.push_back(name + ": reading stopped: " + read.ToString());
    result.entries -= bad;
  }
  result.entries += done;
  return result;
}

} // namespace

store_result<std::unique_ptr<inspector>> inspector::open(const fs::path& data_dir) {
  const auto where = existing_store(data_dir);
  if (!where)
    return where.error();
  auto opened = core::open(*where, quiet_options({}), {}, open_database::creation::read_only);
  if (!opened)
    return opened.error();
  return std::make_unique<rocksdb_inspector>(std::move(*opened));
}

store_result<purge_result> purge(const fs::path& data_dir, std::optional<duration> older_than,
                                 const progress& on_progress) {
  const auto where = existing_store(data_dir);
  if (!where)
    return where.error();
  auto opened = core::open(*where, quiet_options(older_than), {});
  if (!opened)
    return opened.error();
  purge_result result;
  if (auto counted = add_up(**opened, result.entries_before, result.bytes_before); !counted)
    return counted.error();
  if (auto done = (*opened)->compact(on_progress); !done)
    return done.error();
  if (auto counted = add_up(**opened, result.entries_after, result.bytes_after); !counted)
    return counted.error();
  return result;
}

} // namespace switchyard::store
