#include "fixture.hpp"

#include "forwarding_logger.hpp"

#include "support/catch.hpp"

#include <mutex>

using namespace switchyard;
using namespace switchyard::store;
using namespace switchyard::store::test;
namespace fs = std::filesystem;

namespace {

/// A closed store with telemetry and answers in tables as well as in the log.
void fill(const fs::path& dir) {
  auto db = database::open(dir, {}).value();
  auto now = wall_time(std::chrono::system_clock::now());
  for (int i = 0; i < 100; ++i) {
    REQUIRE(append(*db->telemetry(), {make_record("r" + std::to_string(i), now)}));
    REQUIRE(db->answers()->put("k" + std::to_string(i), make_answer("body", now)));
    if (i == 50)
      REQUIRE(db->compact());
  }
}

/// Opening fails as corrupt, names the directory and changes no file.
void check_corrupt(const temp_dir& dir) {
  auto before_opening = contents_of(dir.path());
  auto db = database::open(dir.path(), {});
  REQUIRE(db.has_error());
  CHECK(db.error().what == store_error::kind::corrupt);
  CHECK(db.error().message.find(dir.store().string()) != std::string::npos);
  auto now = contents_of(dir.path());
  for (const auto& [name, bytes] : before_opening) {
    INFO(name);
    CHECK(now.contains(name));
    CHECK(now[name] == bytes);
  }
}

} // namespace

TEST_CASE("a missing data directory is created, with its parents") {
  temp_dir dir;
  auto deep = dir.path() / "a" / "b";
  REQUIRE(database::open(deep, {}));
  CHECK(fs::exists(deep / "store" / "CURRENT"));
}

TEST_CASE("a data directory that is a file is an error that says so, and the file stays") {
  temp_dir dir;
  auto file = dir.path() / "data";
  overwrite(file, "mine");
  for (const auto& where : {file, file / "below"}) {
    auto db = database::open(where, {});
    REQUIRE(db.has_error());
    CHECK(db.error().what == store_error::kind::io);
    CHECK(db.error().message.find(file.string()) != std::string::npos);
  }
  CHECK(database::open(file, {}).error().message.find("it is a file") != std::string::npos);
  CHECK(contents_of(dir.path()).at("data") == "mine");
  overwrite(dir.path() / "store", "mine too");
  CHECK(database::open(dir.path(), {}).error().message.find("it is a file") != std::string::npos);
}

TEST_CASE("a second opening in the same process is locked, and works once the first is closed") {
  temp_dir dir;
  auto first = database::open(dir.path(), {}).value();
  auto second = database::open(dir.path(), {});
  REQUIRE(second.has_error());
  CHECK(second.error().what == store_error::kind::locked);
  CHECK(second.error().message.find(dir.store().string()) != std::string::npos);
  CHECK(second.error().message.find("configure another directory") != std::string::npos);
  CHECK(first->answers()->put("k", make_answer("body")));

  auto still_held = first->answers(); // a store keeps the database open
  first.reset();
  CHECK(database::open(dir.path(), {}).has_error());
  still_held.reset();
  CHECK(database::open(dir.path(), {}));
}

TEST_CASE("a damaged CURRENT, manifest, log or missing table is corrupt and stays untouched [I13]") {
  temp_dir dir;
  fill(dir.path());
  SECTION("CURRENT empty") {
    overwrite(dir.store() / "CURRENT", "");
  }
  SECTION("CURRENT garbage") {
    overwrite(dir.store() / "CURRENT", "garbage");
  }
  SECTION("CURRENT garbage with a line end") {
    overwrite(dir.store() / "CURRENT", "gar\0bage\n");
  }
  SECTION("CURRENT names a file that is not there") {
    overwrite(dir.store() / "CURRENT", "MANIFEST-999999\n");
  }
  SECTION("CURRENT missing") {
    fs::remove(dir.store() / "CURRENT");
  }
  SECTION("manifest empty") {
    overwrite(find_file(dir.store(), "MANIFEST-"), "");
  }
  SECTION("manifest garbage") {
    overwrite(find_file(dir.store(), "MANIFEST-"), std::string(5000, 'x'));
  }
  SECTION("manifest missing") {
    fs::remove(find_file(dir.store(), "MANIFEST-"));
  }
  SECTION("table missing") {
    fs::remove(find_file(dir.store(), "", ".sst"));
  }
  SECTION("table cut") {
    fs::resize_file(find_file(dir.store(), "", ".sst"), 100);
  }
  SECTION("a byte changed in the middle of the log") {
    auto log = find_file(dir.store(), "", ".log");
    auto bytes = contents_of(dir.store()).at(log.filename());
    REQUIRE(bytes.size() > 1000);
    bytes[bytes.size() / 2] ^= 0x55;
    overwrite(log, bytes);
  }
  check_corrupt(dir);
}

TEST_CASE("every file overwritten with garbage is corrupt and stays untouched [I13]") {
  temp_dir dir;
  fill(dir.path());
  for (const auto& [name, bytes] : contents_of(dir.store()))
    if (name != "LOCK")
      overwrite(dir.store() / name, std::string(std::max<std::size_t>(bytes.size(), 64), '\xa5'));
  check_corrupt(dir);
}

TEST_CASE("a damaged table is an error at read and never a crash [I13 H7]") {
  temp_dir dir;
  {
    auto db = database::open(dir.path(), {}).value();
    for (int i = 0; i < 1000; ++i)
      REQUIRE(db->answers()->put("k" + std::to_string(i), make_answer(std::string(100, static_cast<char>('a' + i % 26)),
                                                                      wall_time(std::chrono::system_clock::now()))));
    REQUIRE(db->compact());
  }
  fs::path table; // the answers' one is the largest
  for (const auto& e : fs::directory_iterator(dir.store()))
    if (e.path().extension() == ".sst" && (table.empty() || e.file_size() > fs::file_size(table)))
      table = e.path();
  auto bytes = contents_of(dir.store()).at(table.filename());
  for (std::size_t i = 0; i < 2000; ++i)
    bytes[i] ^= 0x55;
  overwrite(table, bytes);

  auto db = database::open(dir.path(), {}).value();
  std::size_t errors = 0;
  for (int i = 0; i < 1000; ++i)
    if (auto found = db->answers()->find("k" + std::to_string(i)); found.has_error()) {
      ++errors;
      CHECK(found.error().what == store_error::kind::corrupt);
    }
  CHECK(errors > 0);
}

TEST_CASE("a store whose creation was interrupted is made anew") {
  temp_dir dir;
  fs::create_directories(dir.store());
  overwrite(dir.store() / "MANIFEST-000001", "interrup");
  overwrite(dir.store() / "IDENTITY", "");
  auto db = database::open(dir.path(), {}).value();
  CHECK(db->answers()->put("k", make_answer("body")));
}

TEST_CASE("no LOG file is ever written: RocksDB would abort on it with a full disk [H7]") {
  temp_dir dir;
  fill(dir.path());
  fill(dir.path());
  for (const auto& [name, bytes] : contents_of(dir.path())) {
    INFO(name);
    CHECK_FALSE(name.starts_with("LOG"));
  }
}

TEST_CASE("warnings and errors of the database reach the callback, and one that throws harms nothing [C15]") {
  std::vector<std::string> messages;
  forwarding_logger logger([&](log_level level, const std::string& text) {
    messages.push_back((level == log_level::error ? "error: " : "warning: ") + text);
    throw std::runtime_error("the log is broken");
  });
  rocksdb::Info(&logger, "chatter %d", 1);
  rocksdb::Warn(&logger, "stalled %d\n", 2);
  rocksdb::Error(&logger, "failed %d\n", 3);
  CHECK(messages == std::vector<std::string>{"warning: stalled 2", "error: failed 3"});
}

TEST_CASE("a store that cannot be opened was told twice, first in RocksDB's own words") {
  temp_dir dir;
  fill(dir.path());
  std::mutex mutex;
  std::vector<std::string> messages;
  options o;
  o.log = [&](log_level, const std::string& text) {
    std::lock_guard lock(mutex);
    messages.push_back(text);
  };
  {
    const auto held = database::open(dir.path(), o).value();
    messages.clear();
    CHECK(database::open(dir.path(), o).has_error());
  }
  overwrite(find_file(dir.store(), "MANIFEST-"), std::string(5000, 'x'));
  CHECK(database::open(dir.path(), o).has_error());
  CAPTURE(messages);
  CHECK(messages.empty());
}
