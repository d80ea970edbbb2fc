#include "telemetry_store.hpp"

#include "codec.hpp"
#include "keys.hpp"
#include "row_collector.hpp"
#include "status.hpp"

#include <algorithm>
#include <optional>
#include <ranges>
#include <utility>

namespace switchyard::store {
namespace {

constexpr duration slack = 1s;
constexpr std::size_t max_entries_per_query = 200'000;

std::string_view view(const rocksdb::Slice& s) {
  return {s.data(), s.size()};
}

/// Whether a row at `time` needs an entry of its own beside the one under `key_time`.
bool is_late(wall_time time, wall_time key_time) {
  return time < key_time || time >= after(key_time, slack);
}

/// The providers that have a row in what is stored under one key; each once.
using provider_names = std::vector<std::string_view>;

void add_name(provider_names& names, std::string_view provider) {
  if (!provider.empty() && std::ranges::find(names, provider) == names.end())
    names.push_back(provider);
}

void put(rocksdb::WriteBatch& batch, const open_database& database, const std::string& request_id,
         const provider_names& providers, const std::string& key, const std::string& value) {
  // Putting into a batch in memory cannot fail: it has no size limit and no timestamps.
  batch.Put(database.handle(family_telemetry), key, value).PermitUncheckedError();
  batch.Put(database.handle(family_index), index_key(request_id, key), rocksdb::Slice()).PermitUncheckedError();
  for (const auto provider : providers)
    batch.Put(database.handle(family_providers), index_key(provider, key), rocksdb::Slice()).PermitUncheckedError();
}

// The number of the last batch with usage, which a batch that has to be written again is compared with.
const rocksdb::Slice usage_batch_key = "usage_batch";

std::string number_text(std::uint64_t number) {
  std::string text;
  byte_writer(text).u64(number);
  return text;
}

std::optional<std::uint64_t> last_usage_batch(const open_database& database) {
  std::string text;
  if (!database.db().Get({}, database.handle(family_default), usage_batch_key, &text).ok())
    return std::nullopt;
  byte_reader in(text);
  const auto number = in.u64();
  return in.done() ? std::optional{number} : std::nullopt;
}

class telemetry_store final : public telemetry_log {
public:
  explicit telemetry_store(std::shared_ptr<core> c) : core_(std::move(c)) {}

  store_result<void> append(std::span<const std::shared_ptr<const telemetry_record>> records,
                            const usage_sums& usage) override;
  store_result<usage_sums> usage(wall_time since, wall_time until) override;
  store_result<std::vector<telemetry_row>> query(const telemetry_query& q) override;
  store_result<void> scan(wall_time since, const std::function<void(const telemetry_record&)>& each) override;

private:
  store_result<void> query_by_time(const open_database& database, const telemetry_query& q, wall_time oldest,
                                   row_collector& rows);
  store_result<void> query_by_index(const open_database& database, family index, const std::string& lower,
                                    const std::string& upper, row_collector& rows);
  void collect(std::string_view value, wall_time key_time, row_collector& rows);

  std::shared_ptr<core> core_;
};

store_result<void> telemetry_store::append(std::span<const std::shared_ptr<const telemetry_record>> records,
                                           const usage_sums& usage) {
  std::uint64_t numbers = 1; // that of the batch, and of its entries at most
  for (const auto& r : records)
    numbers += 1 + r->attempts.size();
  const auto number = core_->take_sequences(numbers);
  bool again = false;
  auto fill = [&](rocksdb::WriteBatch& batch, const open_database& database) {
    if (std::exchange(again, true) && last_usage_batch(database) == number)
      return; // it failed after it had reached the log: nothing is left to do, and usage must not be added twice [U2]
    auto sequence = number + 1; // the same keys when it has to be done again
    for (const auto& r : records) {
      const auto& id = r->request.request_id;
      provider_names providers;
      add_name(providers, r->request.provider);
      for (const auto& a : r->attempts)
        if (!is_late(a.time, r->request.time))
          add_name(providers, a.provider);
      put(batch, database, id, providers, telemetry_key(r->request.time, sequence++), encode(*r));
      for (const auto& a : r->attempts)
        if (is_late(a.time, r->request.time))
          put(batch, database, id, {a.provider}, telemetry_key(a.time, sequence++), encode(id, a));
    }
    if (!usage.empty())
      batch.Put(database.handle(family_default), usage_batch_key, number_text(number)).PermitUncheckedError();
    for (const auto& [key, totals] : usage)
      batch.Merge(database.handle(family_usage), usage_key_text(key), encode(totals)).PermitUncheckedError();
  };
  return core_->write(fill, false);
}

store_result<usage_sums> telemetry_store::usage(wall_time since, wall_time until) {
  auto leased = core_->use();
  if (!leased)
    return leased.error();
  const open_database& database = **leased;
  usage_key first, last;
  first.hour = std::max(since, before(core_->now(), core_->settings().retention));
  last.hour = until;
  const auto lower = usage_key_text(first), upper = usage_key_text(last);
  const rocksdb::Slice lower_bound = lower, upper_bound = upper;
  rocksdb::ReadOptions how;
  how.iterate_lower_bound = &lower_bound;
  how.iterate_upper_bound = &upper_bound;
  std::unique_ptr<rocksdb::Iterator> it(database.db().NewIterator(how, database.handle(family_usage)));
  usage_sums found;
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    const auto key = parse_usage_key(view(it->key()));
    const auto totals = decode_usage(view(it->value()));
    if (key && totals)
      found.add({{}, key->tenant, key->route, key->provider, key->model}, *totals);
    else
      core_->count_unreadable();
  }
  if (!it->status().ok())
    return to_store_error("cannot read usage", it->status());
  return found;
}

void telemetry_store::collect(std::string_view value, wall_time key_time, row_collector& rows) {
  if (auto late = decode_late_attempt(value))
    return rows.add({std::move(late->request_id), std::move(late->row)});
  auto record = decode_record(value);
  if (!record)
    return core_->count_unreadable();
  auto id = record->request.request_id;
  for (auto& a : record->attempts | std::views::reverse)
    if (!is_late(a.time, key_time))
      rows.add({id, std::move(a)});
  rows.add({id, std::move(record->request)});
}

store_result<void> telemetry_store::query_by_time(const open_database& database, const telemetry_query& q,
                                                  wall_time oldest, row_collector& rows) {
  auto lower = telemetry_key(before(std::max(oldest, q.since.value_or(oldest)), slack), 0);
  auto upper = telemetry_key(q.until.value_or(wall_time::max()), 0);
  rocksdb::Slice lower_bound = lower, upper_bound = upper;
  rocksdb::ReadOptions how;
  how.iterate_lower_bound = &lower_bound;
  how.iterate_upper_bound = &upper_bound;
  std::unique_ptr<rocksdb::Iterator> it(database.db().NewIterator(how, database.handle(family_telemetry)));
  std::size_t read = 0;
  for (it->SeekToLast(); it->Valid() && read < max_entries_per_query; it->Prev(), ++read) {
    auto time = time_of_telemetry_key(view(it->key()));
    if (time && rows.settled(after(*time, slack)))
      break;
    if (time)
      collect(view(it->value()), *time, rows);
    else
      core_->count_unreadable();
  }
  if (!it->status().ok())
    return to_store_error("cannot read telemetry", it->status());
  return {};
}

store_result<void> telemetry_store::query_by_index(const open_database& database, family index,
                                                   const std::string& lower, const std::string& upper,
                                                   row_collector& rows) {
  rocksdb::Slice lower_bound = lower, upper_bound = upper;
  rocksdb::ReadOptions how;
  how.iterate_lower_bound = &lower_bound;
  how.iterate_upper_bound = &upper_bound;
  std::unique_ptr<rocksdb::Iterator> it(database.db().NewIterator(how, database.handle(index)));
  std::size_t read = 0;
  for (it->SeekToLast(); it->Valid() && read < max_entries_per_query; it->Prev(), ++read) {
    auto key = telemetry_key_of_index(view(it->key()));
    auto time = time_of_telemetry_key(key);
    if (!time)
      continue;
    if (rows.settled(after(*time, slack)))
      break;
    rocksdb::PinnableSlice value;
    auto s = database.db().Get({}, database.handle(family_telemetry), {key.data(), key.size()}, &value);
    if (s.ok())
      collect(view(value), *time, rows);
    else if (!s.IsNotFound()) // the filters of the families do not run at the same time
      return to_store_error("cannot read telemetry", s);
  }
  if (!it->status().ok())
    return to_store_error("cannot read telemetry", it->status());
  return {};
}

store_result<std::vector<telemetry_row>> telemetry_store::query(const telemetry_query& q) {
  auto database = core_->use();
  if (!database)
    return database.error();
  auto now = core_->now();
  auto oldest = before(now, core_->settings().retention);
  row_collector rows(q, oldest, after(now, core_->settings().retention)); // the upper end: [C18]
  store_result<void> done;
  if (!q.request_id.empty()) {
    auto upper = index_prefix(q.request_id);
    upper.back() = '\1'; // the first text after all that begin with the prefix
    done = query_by_index(**database, family_index, index_prefix(q.request_id), upper, rows);
  } else if (!q.provider.empty()) {
    const auto at = [&](wall_time time) { return index_key(q.provider, telemetry_key(time, 0)); };
    done = query_by_index(**database, family_providers, at(before(std::max(oldest, q.since.value_or(oldest)), slack)),
                          at(q.until.value_or(wall_time::max())), rows);
  } else {
    done = query_by_time(**database, q, oldest, rows);
  }
  if (!done)
    return done.error();
  return rows.take();
}

store_result<void> telemetry_store::scan(wall_time since, const std::function<void(const telemetry_record&)>& each) {
  auto leased = core_->use();
  if (!leased)
    return leased.error();
  const open_database& database = **leased;
  auto lower = telemetry_key(std::max(since, before(core_->now(), core_->settings().retention)), 0);
  rocksdb::Slice lower_bound = lower;
  rocksdb::ReadOptions how;
  how.iterate_lower_bound = &lower_bound;
  how.fill_cache = false; // read once, at start
  std::unique_ptr<rocksdb::Iterator> it(database.db().NewIterator(how, database.handle(family_telemetry)));
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    auto value = view(it->value());
    if (layout_of(value) == layout::late_attempt)
      continue; // stands in its record too
    if (auto record = decode_record(value))
      each(*record);
    else
      core_->count_unreadable();
  }
  if (!it->status().ok())
    return to_store_error("cannot read telemetry", it->status());
  return {};
}

} // namespace

std::shared_ptr<telemetry_log> make_telemetry_store(std::shared_ptr<core> c) {
  return std::make_shared<telemetry_store>(std::move(c));
}

} // namespace switchyard::store
