#include "fixture.hpp"

#include "support/catch.hpp"

#include <rocksdb/file_system.h>

#include <atomic>

using namespace switchyard;
using namespace switchyard::store;
using namespace switchyard::store::test;

namespace {

/// What the disk does.
struct disk {
  std::atomic<bool> full{false};
  std::atomic<bool> tears{false};  ///< a full disk takes half of a write first
  std::atomic<bool> denies{false}; ///< nothing may be created
  std::atomic<bool> lies{false};   ///< the next write arrives whole, and is said to have failed
  rocksdb::IOStatus no_space() const {
    auto s = rocksdb::IOStatus::NoSpace("injected");
    s.SetRetryable(true); // as the real file system says
    return s;
  }
};

class faulty_file final : public rocksdb::FSWritableFileOwnerWrapper {
public:
  faulty_file(std::unique_ptr<rocksdb::FSWritableFile> file, disk& d)
      : FSWritableFileOwnerWrapper(std::move(file)), disk_(d) {}

  using FSWritableFileOwnerWrapper::Append;
  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& o,
                           rocksdb::IODebugContext* dbg) override {
    if (disk_.lies.exchange(false)) {
      target()->Append(data, o, dbg).PermitUncheckedError();
      return rocksdb::IOStatus::IOError("injected");
    }
    if (!disk_.full)
      return target()->Append(data, o, dbg);
    if (disk_.tears)
      target()->Append({data.data(), data.size() / 2}, o, dbg).PermitUncheckedError();
    return disk_.no_space();
  }
  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& o,
                           const rocksdb::DataVerificationInfo&, rocksdb::IODebugContext* dbg) override {
    return Append(data, o, dbg);
  }
  rocksdb::IOStatus Sync(const rocksdb::IOOptions& o, rocksdb::IODebugContext* dbg) override {
    return disk_.full ? disk_.no_space() : target()->Sync(o, dbg);
  }

private:
  disk& disk_;
};

class faulty_file_system final : public rocksdb::FileSystemWrapper {
public:
  explicit faulty_file_system(disk& d) : FileSystemWrapper(rocksdb::FileSystem::Default()), disk_(d) {}
  const char* Name() const override { return "faulty"; }

  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& o,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* dbg) override {
    if (disk_.denies)
      return rocksdb::IOStatus::IOError("While open a file for appending: " + name, "Permission denied");
    if (disk_.full)
      return disk_.no_space();
    std::unique_ptr<rocksdb::FSWritableFile> inner;
    auto s = target()->NewWritableFile(name, o, &inner, dbg);
    if (s.ok())
      *file = std::make_unique<faulty_file>(std::move(inner), disk_);
    return s;
  }

private:
  disk& disk_;
};

struct faulty_store {
  temp_dir dir;
  wall_time now = epoch;
  disk faults;
  std::unique_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(std::make_shared<faulty_file_system>(faults));
  std::shared_ptr<database> db = open();

  store_result<std::shared_ptr<database>> try_open(std::size_t write_buffer = 64 << 10) {
    open_hooks hooks;
    hooks.env = env.get();
    hooks.resume_interval = 0s;
    hooks.write_buffer = write_buffer;
    return open_with(dir.path(), with_clock(&now), hooks);
  }
  std::shared_ptr<database> open() { return try_open().value(); }
};

} // namespace

TEST_CASE("on a full disk writes fail as full, reads go on, and writes work once there is space [I13 H7]") {
  faulty_store f;
  f.faults.tears = GENERATE(false, true);
  auto answers = f.db->answers();
  auto log = f.db->telemetry();
  REQUIRE(answers->put("before", make_answer("body")));
  REQUIRE(append(*log, {make_record("before", epoch)}));

  for (int round = 0; round < 3; ++round) {
    f.faults.full = true;
    for (int i = 0; i < 20; ++i) {
      auto put = answers->put("during", make_answer("body"));
      REQUIRE(put.has_error());
      CHECK(put.error().what == store_error::kind::full);
      CHECK(append(*log, {make_record("during", epoch)}).has_error());
    }
    CHECK(answers->find("before").value() != nullptr);
    CHECK(answers->find("during").value() == nullptr);

    f.faults.full = false;
    auto key = "after " + std::to_string(round);
    CHECK(answers->put(key, make_answer("body")));
    CHECK(append(*log, {make_record(key, epoch)}));
  }

  answers.reset();
  log.reset();
  f.db.reset();
  f.db = f.open(); // what was answered is still there, what failed is not
  CHECK(f.db->answers()->find("before").value() != nullptr);
  CHECK(f.db->answers()->find("during").value() == nullptr);
  for (int round = 0; round < 3; ++round)
    CHECK(f.db->answers()->find("after " + std::to_string(round)).value() != nullptr);
  CHECK(f.db->telemetry()->query({}).value().size() == 8);
}

TEST_CASE("usage was added twice where a write that was said to have failed had reached the log [U2]") {
  faulty_store f;
  auto log = f.db->telemetry();
  for (int i = 0; i < 5; ++i) {
    f.faults.lies = true;
    CHECK(append(*log, {make_record("r" + std::to_string(i), epoch)}));
    CHECK_FALSE(f.faults.lies); // it was met
  }
  REQUIRE(append(*log, {make_record("last", epoch)}));
  const auto sums = log->usage({}, wall_time::max()).value();
  REQUIRE(std::distance(sums.begin(), sums.end()) == 1);
  CHECK(sums.begin()->second.requests == 6);
  CHECK(log->query({}).value().size() == 12);
}

TEST_CASE("a disk that fills while buffers are written out fails writes and loses nothing answered [I13]") {
  faulty_store f;
  auto answers = f.db->answers();
  std::vector<std::string> stored;
  // Buffers of 64 KiB: the flushes and compactions in the background meet the full disk too.
  for (int i = 0; i < 2000; ++i) {
    f.faults.full = i % 500 >= 400;
    auto key = "k" + std::to_string(i);
    if (answers->put(key, make_answer(std::string(500, 'x'))))
      stored.push_back(key);
  }
  f.faults.full = false;
  CHECK(stored.size() >= 400);
  CHECK(stored.size() <= 1600);
  answers.reset();
  f.db.reset();
  f.db = f.open();
  std::size_t missing = 0;
  for (const auto& key : stored)
    missing += f.db->answers()->find(key).value() == nullptr;
  CHECK(missing == 0);
}

TEST_CASE("a store on a full or unwritable disk does not open, and says why [I13]") {
  faulty_store f;
  f.db.reset();
  SECTION("full") {
    f.faults.full = true;
    auto db = f.try_open();
    REQUIRE(db.has_error());
    CHECK(db.error().what == store_error::kind::full);
  }
  SECTION("not writable") {
    f.faults.denies = true;
    auto db = f.try_open();
    REQUIRE(db.has_error());
    CHECK(db.error().what == store_error::kind::io);
    CHECK(db.error().message.find("Permission denied") != std::string::npos);
    CHECK(db.error().message.find(f.dir.store().string()) != std::string::npos);
  }
  f.faults.full = f.faults.denies = false;
  CHECK(f.try_open().has_value());
}

TEST_CASE("a data directory that vanishes makes writes fail sooner or later, and nothing crashes [H7 I13]") {
  faulty_store f;
  REQUIRE(f.db->answers()->put("k", make_answer("body")));
  temp_dir elsewhere; // moved first, at once: RocksDB deletes files of its own in the background
  std::filesystem::rename(f.dir.store(), elsewhere.store());
  bool failed = false;
  for (int i = 0; i < 5000 && !failed; ++i) // until a buffer of 64 KiB has to become a file
    failed = f.db->answers()->put("k" + std::to_string(i), make_answer(std::string(1000, 'x'))).has_error() ||
             append(*f.db->telemetry(), {make_record("a", epoch)}).has_error();
  CHECK(failed);
  CHECK(f.db->answers()->put("k", make_answer("body")).has_error());
  CHECK(f.db->compact().has_error());
  CHECK_FALSE(std::filesystem::exists(f.dir.store())); // no new, empty store in its place
}

TEST_CASE("no error message holds a key or content [H4]") {
  faulty_store f;
  f.faults.full = true;
  auto put = f.db->answers()->put("secret-key", make_answer("secret-body"));
  REQUIRE(put.has_error());
  CHECK(put.error().message.find("secret") == std::string::npos);
  auto appended = append(*f.db->telemetry(), {make_record("secret-id", epoch)});
  REQUIRE(appended.has_error());
  CHECK(appended.error().message.find("secret") == std::string::npos);
  CHECK_THROWS_AS(appended.value(), std::runtime_error);
}
