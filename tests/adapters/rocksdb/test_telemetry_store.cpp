#include "core.hpp"
#include "fixture.hpp"
#include "keys.hpp"
#include "row_collector.hpp"
#include "store_directory.hpp"

#include "support/catch.hpp"

#include <rapidcheck.h>

#include <algorithm>

using namespace switchyard;
using namespace switchyard::store;
using namespace switchyard::store::test;

namespace {

bool is_request(const telemetry_row& r) {
  return std::holds_alternative<request_row>(r.row);
}

/// A log whose clock stands an hour after the epoch of the tests.
struct log_fixture {
  temp_dir dir;
  wall_time now = epoch + 1h;
  std::shared_ptr<database> db = database::open(dir.path(), with_clock(&now)).value();
  std::shared_ptr<telemetry_log> log = db->telemetry();

  std::vector<telemetry_row> rows(const telemetry_query& q = {}) { return log->query(q).value(); }
};

} // namespace

TEST_CASE("a query gives the rows of requests and attempts, newest first [H4]") {
  log_fixture f;
  REQUIRE(append(*f.log, {make_record("a", epoch), make_record("b", epoch + 10s)}));
  auto rows = f.rows();
  REQUIRE(rows.size() == 4);
  CHECK(rows[0].request_id == "b");
  CHECK_FALSE(is_request(rows[0]));
  CHECK(is_request(rows[1]));
  CHECK(rows[2].request_id == "a");
  CHECK(std::get<request_row>(rows[3].row).operation == "/v1/chat/completions");
  CHECK(std::get<attempt_row>(rows[2].row).latency == 200ms);
}

TEST_CASE("since is included and until is not, by each row's own time [H4]") {
  log_fixture f;
  REQUIRE(append(*f.log, {make_record("a", epoch)})); // its attempt begins 1 ms later
  auto count = [&](std::optional<wall_time> since, std::optional<wall_time> until) {
    telemetry_query q;
    q.since = since;
    q.until = until;
    return f.rows(q).size();
  };
  CHECK(count(epoch, std::nullopt) == 2);
  CHECK(count(epoch + 1ns, std::nullopt) == 1);
  CHECK(count(epoch + 1ms, std::nullopt) == 1);
  CHECK(count(epoch + 1ms + 1ns, std::nullopt) == 0);
  CHECK(count(std::nullopt, epoch) == 0);
  CHECK(count(std::nullopt, epoch + 1ns) == 1);
  CHECK(count(std::nullopt, epoch + 1ms) == 1);
  CHECK(count(std::nullopt, epoch + 1ms + 1ns) == 2);
  CHECK(count(epoch + 1s, epoch) == 0);
  CHECK(count(wall_time::min(), wall_time::max()) == 2);
}

TEST_CASE("rows of one request are found by its id alone [H4]") {
  log_fixture f;
  REQUIRE(append(*f.log, {make_record("a", epoch), make_record("ab", epoch + 1s), make_record("", epoch + 2s),
                          make_record("a", epoch + 3s)}));
  telemetry_query q;
  q.request_id = "a";
  auto rows = f.rows(q);
  REQUIRE(rows.size() == 4); // an id that a client used twice
  for (const auto& r : rows)
    CHECK(r.request_id == "a");
  CHECK(time_of(rows.front()) == epoch + 3s + 1ms);
  q.since = epoch + 1s;
  CHECK(f.rows(q).size() == 2);
  q.request_id = "b";
  CHECK(f.rows(q).empty());
}

TEST_CASE("the provider filter is about each attempt's provider and the one that served [H4]") {
  log_fixture f;
  auto r = make_record("a", epoch, "beta");
  r.attempts.insert(r.attempts.begin(), make_attempt(epoch, "alpha", false));
  REQUIRE(append(*f.log, {r}));
  telemetry_query q;
  q.provider = "alpha";
  auto alpha = f.rows(q);
  REQUIRE(alpha.size() == 1);
  CHECK(std::get<attempt_row>(alpha[0].row).failure == failure_class::server_error);
  q.provider = "beta";
  CHECK(f.rows(q).size() == 2);
  q.provider = "gamma";
  CHECK(f.rows(q).empty());
}

TEST_CASE("the limit counts rows and keeps the newest [H4]") {
  log_fixture f;
  for (int i = 0; i < 20; ++i)
    REQUIRE(append(*f.log, {make_record(std::to_string(i), epoch + i * 10s)}));
  telemetry_query q;
  q.limit = 3;
  auto rows = f.rows(q);
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].request_id == "19");
  CHECK(rows[2].request_id == "18");
  q.limit = 0; // out of range: the nearest within
  CHECK(f.rows(q).size() == 1);
}

TEST_CASE("an attempt that began minutes after its request is found at its own time, once [H4]") {
  log_fixture f;
  auto slow = make_record("slow", epoch);
  slow.attempts.push_back(make_attempt(epoch + 5min, "beta"));
  REQUIRE(append(*f.log, {slow, make_record("quick", epoch + 2min)}));
  CHECK(f.rows().size() == 5);

  telemetry_query newest;
  newest.limit = 1;
  CHECK(f.rows(newest).at(0).request_id == "slow");

  telemetry_query range;
  range.since = epoch + 4min;
  CHECK(f.rows(range).size() == 1);
  telemetry_query by_id;
  by_id.request_id = "slow";
  CHECK(f.rows(by_id).size() == 3);

  std::vector<std::size_t> attempts; // whole records, each once
  REQUIRE(f.log->scan({}, [&](const telemetry_record& r) { attempts.push_back(r.attempts.size()); }));
  CHECK(attempts == std::vector<std::size_t>{2, 1});
}

TEST_CASE("a query agrees with a filter over everything in memory, for any records and any query [H4]") {
  temp_dir dir;
  auto base = epoch, now = base;
  auto o = with_clock(&now);
  o.retention = 2h;
  auto db = database::open(dir.path(), o).value();
  CHECK(rc::check("query", [&] {
    base += 4h; // what the runs before wrote is expired
    now = base + 1h;
    auto pick = [](int from, int to) { return *rc::gen::inRange(from, to); };
    std::vector<telemetry_row> all;
    for (int i = pick(0, 12); i > 0; --i) {
      auto r = make_record(std::to_string(pick(0, 4)), base + pick(0, 3000) * 1ms, pick(0, 2) ? "alpha" : "beta");
      for (int n = pick(0, 3); n > 0; --n)
        r.attempts.push_back(make_attempt(r.request.time + pick(-50, 3000) * 1ms, pick(0, 2) ? "alpha" : "beta"));
      all.push_back({r.request.request_id, r.request});
      for (const auto& a : r.attempts)
        all.push_back({r.request.request_id, a});
      RC_ASSERT(append(*db->telemetry(), {r}).has_value());
    }
    telemetry_query q;
    q.limit = static_cast<std::size_t>(pick(1, 20));
    if (pick(0, 2))
      q.since = base + pick(-100, 4000) * 1ms;
    if (pick(0, 2))
      q.until = base + pick(-100, 4000) * 1ms;
    if (pick(0, 2))
      q.provider = "alpha";
    if (pick(0, 2))
      q.request_id = std::to_string(pick(0, 4));

    std::erase_if(all, [&](const telemetry_row& r) {
      auto provider = std::visit([](const auto& row) { return row.provider; }, r.row);
      return (q.since && time_of(r) < *q.since) || (q.until && time_of(r) >= *q.until) ||
             (!q.provider.empty() && provider != q.provider) || (!q.request_id.empty() && r.request_id != q.request_id);
    });
    std::vector<wall_time> expected, got;
    for (const auto& r : all)
      expected.push_back(time_of(r));
    std::ranges::sort(expected, std::greater{});
    expected.resize(std::min(expected.size(), q.limit));
    for (const auto& r : db->telemetry()->query(q).value())
      got.push_back(time_of(r));
    RC_ASSERT(got == expected);
  }));
}

TEST_CASE("a scan gives whole records from a time on, oldest first [H5]") {
  log_fixture f;
  REQUIRE(append(*f.log, {make_record("c", epoch + 20s), make_record("a", epoch), make_record("b", epoch + 10s)}));
  auto ids = [&](wall_time since) {
    std::string all;
    REQUIRE(f.log->scan(since, [&](const telemetry_record& r) { all += r.request.request_id; }));
    return all;
  };
  CHECK(ids(wall_time::min()) == "abc");
  CHECK(ids(epoch) == "abc");
  CHECK(ids(epoch + 1ns) == "bc");
  CHECK(ids(epoch + 21s).empty());
}

TEST_CASE("records of the same instant do not replace each other, nor after a restart [H4]") {
  temp_dir dir;
  auto now = epoch + 1h;
  for (int opening = 0; opening < 3; ++opening) {
    auto db = database::open(dir.path(), with_clock(&now)).value();
    for (int i = 0; i < 10; ++i)
      REQUIRE(append(*db->telemetry(), {make_record("same", epoch), make_record("same", epoch)}));
  }
  auto db = database::open(dir.path(), with_clock(&now)).value();
  std::size_t records = 0;
  REQUIRE(db->telemetry()->scan({}, [&](const telemetry_record&) { ++records; }));
  CHECK(records == 60);
}

TEST_CASE("an entry that cannot be read is passed over and counted [H7]") {
  temp_dir dir;
  auto now = epoch + 1h;
  {
    auto c = core::open(prepare_store_directory(dir.path()).value(), with_clock(&now), {}).value();
    auto fill = [](rocksdb::WriteBatch& batch, const open_database& d) {
      CHECK(batch.Put(d.handle(family_telemetry), telemetry_key(epoch, 1), "\x7f newer").ok());
      CHECK(batch.Put(d.handle(family_telemetry), telemetry_key(epoch, 2), "").ok());
      CHECK(batch.Put(d.handle(family_telemetry), "not a key", "\x01").ok());
    };
    REQUIRE(c->write(fill, false));
  }
  auto db = database::open(dir.path(), with_clock(&now)).value();
  REQUIRE(append(*db->telemetry(), {make_record("a", epoch)}));
  CHECK(db->telemetry()->query({}).value().size() == 2);
  CHECK(db->unreadable_entries() >= 2);
  auto seen = db->unreadable_entries();
  std::size_t records = 0;
  REQUIRE(db->telemetry()->scan({}, [&](const telemetry_record&) { ++records; }));
  CHECK(records == 1);
  CHECK(db->unreadable_entries() > seen);
}

TEST_CASE("a hundred thousand records are appended, queried by any filter and scanned [H6]") {
  log_fixture f;
  constexpr int count = 100'000, batch_size = 500;
  for (int first = 0; first < count; first += batch_size) {
    std::vector<telemetry_record> batch;
    for (int i = first; i < first + batch_size; ++i)
      batch.push_back(make_record(std::to_string(i), epoch + i * 1ms, i % 1000 == 0 ? "rare" : "alpha"));
    REQUIRE(append(*f.log, batch));
  }
  auto newest = f.rows();
  REQUIRE(newest.size() == 100);
  CHECK(newest.front().request_id == std::to_string(count - 1));

  telemetry_query q;
  q.provider = "rare";
  CHECK(f.rows(q).size() == 100);
  q = {};
  q.request_id = "12345";
  CHECK(f.rows(q).size() == 2);
  q = {};
  q.since = epoch + 50s;
  q.until = epoch + 50s + 10ms;
  CHECK(f.rows(q).size() == 20);
  std::size_t records = 0;
  REQUIRE(f.log->scan(epoch + 90s, [&](const telemetry_record&) { ++records; }));
  CHECK(records == 10'000);
}
