#include "answer_store.hpp"
#include "codec.hpp"
#include "core.hpp"
#include "fixture.hpp"
#include "store_directory.hpp"
#include "telemetry_store.hpp"

#include "support/catch.hpp"

#include <atomic>
#include <chrono>
#include <thread>

using namespace switchyard;
using namespace switchyard::store;
using namespace switchyard::store::test;

namespace {

/// Entries that are physically there, expired or not.
std::size_t entries(core& c, family f) {
  std::unique_ptr<rocksdb::Iterator> it((*c.use())->db().NewIterator({}, (*c.use())->handle(f)));
  std::size_t n = 0;
  for (it->SeekToFirst(); it->Valid(); it->Next())
    ++n;
  return n;
}

std::shared_ptr<core> open_core(const temp_dir& dir, const options& o, const open_hooks& hooks = {}) {
  return core::open(prepare_store_directory(dir.path()).value(), o, hooks).value();
}

void put_answer(core& c, const std::string& key, const stored_answer& a) {
  REQUIRE(c.write([&](rocksdb::WriteBatch& batch,
                      const open_database& d) { CHECK(batch.Put(d.handle(family_answers), key, encode(a)).ok()); },
                  false));
}

/// RocksDB's clock, so many seconds ahead.
class shifted_env final : public rocksdb::EnvWrapper {
public:
  shifted_env() : rocksdb::EnvWrapper(rocksdb::Env::Default()) {}
  const char* Name() const override { return "shifted"; }
  rocksdb::Status GetCurrentTime(std::int64_t* unix_time) override {
    auto s = target()->GetCurrentTime(unix_time);
    *unix_time += ahead.load();
    return s;
  }
  std::atomic<std::int64_t> ahead{0};
};

} // namespace

TEST_CASE("rows past their retention are hidden at once, and the last instant still counts [H6 C18]") {
  temp_dir dir;
  auto now = epoch;
  auto o = with_clock(&now);
  o.retention = 1h;
  auto log = database::open(dir.path(), o).value()->telemetry();
  auto r = make_record("a", epoch);
  r.attempts.clear();
  REQUIRE(append(*log, {r}));
  std::size_t scanned = 0;
  auto visible = [&] {
    scanned = 0;
    REQUIRE(log->scan({}, [&](const telemetry_record&) { ++scanned; }));
    return log->query({}).value().size();
  };
  now = epoch + 1h;
  CHECK(visible() == 1);
  CHECK(scanned == 1);
  now += 1ns;
  CHECK(visible() == 0);
  CHECK(scanned == 0);
  telemetry_query by_id;
  by_id.request_id = "a";
  CHECK(log->query(by_id).value().empty());
}

TEST_CASE("a clock set back by more than the retention does not show rows of the future [C18]") {
  temp_dir dir;
  auto now = epoch;
  auto o = with_clock(&now);
  o.retention = 1h;
  auto log = database::open(dir.path(), o).value()->telemetry();
  REQUIRE(append(*log, {make_record("a", epoch)}));
  now = epoch - 30min;
  CHECK(log->query({}).value().size() == 2);
  now = epoch - 2h;
  CHECK(log->query({}).value().empty());
}

TEST_CASE("a compaction drops expired rows with their index, and nothing else [H6]") {
  temp_dir dir;
  auto now = epoch;
  auto o = with_clock(&now);
  o.retention = 1h;
  auto c = open_core(dir, o);
  auto log = make_telemetry_store(c);
  for (int i = 0; i < 100; ++i)
    REQUIRE(append(*log, {make_record("old", epoch + i * 1s), make_record("young", epoch + 50min + i * 1s)}));
  REQUIRE(c->compact());
  CHECK(entries(*c, family_telemetry) == 200);
  now = epoch + 1h + 10min;
  REQUIRE(c->compact());
  CHECK(entries(*c, family_telemetry) == 100);
  CHECK(entries(*c, family_index) == 100);
  telemetry_query q;
  q.limit = 1000;
  CHECK(log->query(q).value().size() == 200);
}

TEST_CASE("a compaction drops answers past their own life, and keeps those from the future [I12 C18]") {
  temp_dir dir;
  auto now = epoch;
  auto c = open_core(dir, with_clock(&now));
  put_answer(*c, "short", make_answer("body", epoch, 1min));
  put_answer(*c, "long", make_answer("body", epoch, 2h));
  put_answer(*c, "future", make_answer("body", epoch + 48h, 1min));
  put_answer(*c, "forever", make_answer("body", epoch, duration::max()));
  now = epoch + 1h;
  REQUIRE(c->compact());
  CHECK(entries(*c, family_answers) == 3);
  CHECK(make_answer_store(c)->find("short").value() == nullptr);
}

TEST_CASE("with a little traffic expired rows leave the disk without anybody asking [H6]") {
  temp_dir dir;
  shifted_env env;
  std::atomic<std::int64_t> seconds_ahead{0};
  options o;
  o.clock = [&] { return epoch + std::chrono::seconds(seconds_ahead); };
  o.retention = 1h;
  open_hooks hooks;
  hooks.env = &env;
  hooks.flush_interval = 0s;
  {
    auto c = open_core(dir, o, hooks);
    for (int i = 0; i < 10; ++i)
      REQUIRE(append(*make_telemetry_store(c), {make_record("old", epoch)}));
    REQUIRE(c->compact());
  }
  auto c = open_core(dir, o, hooks);
  auto log = make_telemetry_store(c);
  seconds_ahead = env.ahead = 2 * 3600;

  // Each append flushes; a file that is due is then rewritten in the background. The loop ends by what it waits for.
  auto give_up = std::chrono::steady_clock::now() + 60s;
  std::size_t young = 0;
  while (entries(*c, family_telemetry) > young && std::chrono::steady_clock::now() < give_up) {
    REQUIRE(append(*log, {make_record("young", epoch + 2h)}));
    ++young;
    std::this_thread::yield();
  }
  CHECK(entries(*c, family_telemetry) == young);
}
