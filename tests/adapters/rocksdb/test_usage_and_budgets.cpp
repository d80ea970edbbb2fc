#include "codec.hpp"
#include "fixture.hpp"
#include "keys.hpp"

#include "support/catch.hpp"

#include <rapidcheck.h>
#include <rocksdb/db.h>

#include <algorithm>
#include <memory>

using namespace switchyard;
using namespace switchyard::store;
using namespace switchyard::store::test;

namespace {

telemetry_record priced(std::string id, wall_time time, double cost) {
  auto r = make_record(std::move(id), time);
  r.request.tenant = "acme";
  r.request.model = "m";
  r.request.tokens.input = 10;
  r.request.tokens.output = 20;
  r.request.cost = cost;
  return r;
}

usage_totals total(const usage_sums& sums) {
  usage_totals all;
  for (const auto& [key, totals] : sums)
    all += totals;
  return all;
}

stored_budget ledger(std::string name, wall_time at, duration window = 1h) {
  stored_budget b;
  b.ledger = std::move(name);
  b.window = window;
  b.window_started = at;
  b.written_at = at;
  b.used = {3, 400, 0.25};
  return b;
}

} // namespace

TEST_CASE("usage adds up over batches and restarts, and is asked by time [U2]") {
  temp_dir dir;
  auto now = epoch;
  {
    auto db = database::open(dir.path(), with_clock(&now)).value();
    for (int i = 0; i < 10; ++i)
      REQUIRE(append(*db->telemetry(), {priced("a", epoch, 0.5), priced("b", epoch + 1h, 0.25)}));
  }
  auto db = database::open(dir.path(), with_clock(&now)).value();
  const auto all = db->telemetry()->usage({}, wall_time::max()).value();
  CHECK(std::distance(all.begin(), all.end()) == 1); // whatever the hours
  CHECK(total(all) == usage_totals{20, 200, 400, 0, 0, 7.5});
  CHECK(total(db->telemetry()->usage(epoch + 1h, wall_time::max()).value()).requests == 10);
  CHECK(total(db->telemetry()->usage({}, epoch + 1h).value()).cost == 5.0);
  REQUIRE(db->compact()); // what was merged in memory is merged on the disk, too
  CHECK(total(db->telemetry()->usage({}, wall_time::max()).value()) == usage_totals{20, 200, 400, 0, 0, 7.5});
}

TEST_CASE("a month of many tenants was partly told as that of others [U2]") {
  temp_dir dir;
  auto now = epoch + 720h;
  auto o = with_clock(&now);
  o.retention = 1000h;
  auto db = database::open(dir.path(), o).value();
  constexpr int hours = 720, tenants = 150; // more than a sum holds keys
  for (int hour = 0; hour < hours; ++hour) {
    usage_sums sums;
    for (int tenant = 0; tenant < tenants; ++tenant)
      sums.add({epoch + std::chrono::hours(hour), "t" + std::to_string(tenant), "r", "p", "m"}, {1, 0, 0, 0, 1, 0});
    REQUIRE(db->telemetry()->append({}, sums));
  }
  const auto rows = grouped(db->telemetry()->usage({}, wall_time::max()).value(), usage_group::tenant);
  REQUIRE(rows.size() == tenants);
  for (const auto& row : rows) {
    CAPTURE(row.name);
    CHECK(row.name != "other");
    CHECK(row.totals.requests == hours);
  }
}

TEST_CASE("usage leaves with the telemetry it came from [H6]") {
  temp_dir dir;
  auto now = epoch;
  auto o = with_clock(&now);
  o.retention = 24h;
  auto db = database::open(dir.path(), o).value();
  REQUIRE(append(*db->telemetry(), {priced("a", epoch, 1)}));
  now += 26h;
  REQUIRE(append(*db->telemetry(), {priced("b", now, 1)}));
  CHECK(total(db->telemetry()->usage({}, wall_time::max()).value()).requests == 1);
  REQUIRE(db->compact());
  now -= 26h;
  CHECK(total(db->telemetry()->usage({}, wall_time::max()).value()).requests == 1); // it is gone, not only hidden
}

TEST_CASE("a provider's rows are found among a hundred thousand of others [H4, H6]") {
  temp_dir dir;
  auto now = epoch + 30h;
  auto db = database::open(dir.path(), with_clock(&now)).value();
  auto log = db->telemetry();
  for (int i = 0; i < 100; ++i) {
    std::vector<telemetry_record> batch;
    for (int j = 0; j < 1000; ++j)
      batch.push_back(make_record("busy", epoch + i * 1min + j * 1ms, "alpha"));
    if (i == 0)
      batch.push_back(make_record("rare", epoch, "beta"));
    REQUIRE(append(*log, batch));
  }
  for (int i = 0; i < 120; ++i) { // more than a query reads
    std::vector<telemetry_record> batch;
    for (int j = 0; j < 1000; ++j)
      batch.push_back(make_record("busy", epoch + 10h + i * 1min + j * 1ms, "alpha"));
    REQUIRE(append(*log, batch));
  }
  telemetry_query q;
  q.provider = "beta";
  const auto rows = log->query(q).value();
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].request_id == "rare");
  q.since = epoch + 1s;
  CHECK(log->query(q).value().empty());
  q.since.reset();
  q.request_id = "busy";
  CHECK(log->query(q).value().empty());
}

TEST_CASE("budgets are found again after a restart, and old ones go [U1]") {
  temp_dir dir;
  auto now = epoch;
  const std::string name("*\0*\0001h\0acme", 11);
  {
    auto db = database::open(dir.path(), with_clock(&now)).value();
    CHECK(db->budgets()->load().value().empty());
    const std::vector<stored_budget> first{ledger(name, epoch), ledger("other", epoch, 24h)};
    REQUIRE(db->budgets()->write(first));
    auto again = ledger(name, epoch + 1min);
    again.used.requests = 9;
    REQUIRE(db->budgets()->write({&again, 1}));
  }
  auto db = database::open(dir.path(), with_clock(&now)).value();
  auto found = db->budgets()->load().value();
  REQUIRE(found.size() == 2);
  CHECK(found[0].ledger == name);
  CHECK(found[0].used.requests == 9);
  CHECK(found[0].used.tokens == 400);
  CHECK(found[0].used.cost == 0.25);
  CHECK(found[0].window == 1h);
  CHECK(found[0].window_started == epoch + 1min);
  now += 3h;
  CHECK(db->budgets()->load().value().size() == 1);
  now -= 3h;
  CHECK(db->budgets()->load().value().size() == 1); // gone
}

TEST_CASE("a store made before there were budgets opens, keeps what it has, and takes budgets [U1, I5]") {
  temp_dir dir;
  auto now = epoch;
  REQUIRE(database::open(dir.path(), with_clock(&now)).value()->answers()->put("k", make_answer("body")));
  {
    // What such a store is: one without the family.
    const auto where = dir.store().string();
    std::vector<std::string> names;
    REQUIRE(rocksdb::DB::ListColumnFamilies({}, where, &names).ok());
    REQUIRE(std::ranges::count(names, "budgets") == 1);
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    for (const auto& name : names)
      families.push_back({name, {}});
    rocksdb::DB* opened = nullptr;
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    REQUIRE(rocksdb::DB::Open({}, where, families, &handles, &opened).ok());
    const std::unique_ptr<rocksdb::DB> old{opened};
    for (auto* handle : handles) {
      if (handle->GetName() == "budgets")
        REQUIRE(old->DropColumnFamily(handle).ok());
      REQUIRE(old->DestroyColumnFamilyHandle(handle).ok());
    }
  }
  auto db = database::open(dir.path(), with_clock(&now)).value();
  CHECK(db->answers()->find("k").value()->body == "body");
  CHECK(db->budgets()->load().value().empty());
  const auto one = ledger("some", epoch);
  CHECK(db->budgets()->write({&one, 1}));
  CHECK(db->budgets()->load().value().size() == 1);
}

TEST_CASE("ledgers, sums and reservations survive their encoding, and any other bytes are refused [I13]") {
  const bool held = rc::check([] {
    stored_budget b;
    b.window = duration(*rc::gen::inRange<std::int64_t>(1, 1'000'000'000'000));
    b.window_started = wall_time(duration(*rc::gen::arbitrary<std::int64_t>()));
    b.written_at = wall_time(duration(*rc::gen::arbitrary<std::int64_t>()));
    b.used = {*rc::gen::arbitrary<std::uint64_t>(), *rc::gen::arbitrary<std::uint64_t>(), 1.5};
    const auto ledger_again = decode_budget(encode(b));
    RC_ASSERT(ledger_again.has_value());
    RC_ASSERT(ledger_again->window == b.window);
    RC_ASSERT(ledger_again->window_started == b.window_started);
    RC_ASSERT(ledger_again->written_at == b.written_at);
    RC_ASSERT(ledger_again->used.tokens == b.used.tokens);

    usage_totals u{*rc::gen::arbitrary<std::uint64_t>(), 2, 3, 4, *rc::gen::arbitrary<std::uint64_t>(), 0.1};
    RC_ASSERT(decode_usage(encode(u)) == u);

    usage_key k{wall_time(std::chrono::hours(*rc::gen::inRange(0, 2'000'000))), *rc::gen::arbitrary<std::string>(),
                *rc::gen::arbitrary<std::string>(), *rc::gen::arbitrary<std::string>(),
                *rc::gen::arbitrary<std::string>()};
    RC_ASSERT(parse_usage_key(usage_key_text(k)) == k);

    stored_answer a;
    a.reserved = *rc::gen::arbitrary<bool>();
    a.outcome_unknown = !a.reserved && *rc::gen::arbitrary<bool>();
    a.body = a.reserved ? "" : *rc::gen::arbitrary<std::string>();
    a.fingerprint.fill(9);
    a.ttl = 1h;
    const auto bytes = encode(a);
    const auto again = decode_answer(bytes);
    RC_ASSERT(again.has_value());
    RC_ASSERT(again->reserved == a.reserved);
    RC_ASSERT(again->outcome_unknown == a.outcome_unknown);
    RC_ASSERT(again->body == a.body);
    RC_ASSERT(decode_answer_age(bytes)->ttl == a.ttl);

    const auto noise = *rc::gen::arbitrary<std::string>();
    decode_budget(noise), decode_usage(noise), parse_usage_key(noise), decode_answer(noise); // and nothing happens
    for (const auto& whole : {encode(b), encode(u), bytes}) {
      const auto cut = whole.substr(0, *rc::gen::inRange<std::size_t>(0, whole.size()));
      RC_ASSERT_FALSE(decode_budget(cut).has_value());
      RC_ASSERT_FALSE(decode_usage(cut).has_value());
      RC_ASSERT_FALSE(decode_answer(cut).has_value());
    }
  });
  CHECK(held);
}

TEST_CASE("of the changes of keys the last one of each counts, and one that goes is gone [I6]") {
  temp_dir dir;
  auto now = epoch;
  {
    auto db = database::open(dir.path(), with_clock(&now)).value();
    const auto record = [](std::string body) {
      return std::make_shared<const stored_answer>(make_answer(std::move(body)));
    };
    const std::vector<key_change> changes{
        {"a", record("one")}, {"b", record("one")}, {"a", record("two")}, {"b", nullptr}, {"never", nullptr}};
    REQUIRE(db->answers()->write(changes));
  }
  auto answers = database::open(dir.path(), with_clock(&now)).value()->answers();
  CHECK(answers->find("a").value()->body == "two");
  CHECK(answers->find("b").value() == nullptr);
}
