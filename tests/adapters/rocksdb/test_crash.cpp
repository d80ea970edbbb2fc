#include "fixture.hpp"

#include "support/catch.hpp"

#include <sys/wait.h>

#include <cstdlib>

using namespace switchyard;
using namespace switchyard::store;
using namespace switchyard::store::test;

namespace {

/// Runs the store process; its exit code, or 128 plus the signal that ended it.
int run(const std::string& arguments) {
  int status = std::system((std::string("exec " SWITCHYARD_STORE_PROCESS " ") + arguments + " 2>/dev/null").c_str());
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

} // namespace

TEST_CASE("what was stored before a kill -9 is there afterwards [I5 I11 H5]") {
  temp_dir dir;
  REQUIRE(run("die " + dir.path().string() + " 200") == 128 + 9);
  auto db = database::open(dir.path(), {}).value();
  for (int i = 0; i < 200; ++i) {
    auto found = db->answers()->find("key " + std::to_string(i)).value();
    REQUIRE(found);
    CHECK(found->body == "body " + std::to_string(i));
  }
  std::size_t records = 0;
  REQUIRE(db->telemetry()->scan({}, [&](const telemetry_record&) { ++records; }));
  CHECK(records == 200);
}

TEST_CASE("crash after crash loses nothing and adds to the same log [I5 H5]") {
  temp_dir dir;
  for (int i = 0; i < 3; ++i)
    REQUIRE(run("die " + dir.path().string() + " 20") == 128 + 9);
  auto db = database::open(dir.path(), {}).value();
  std::size_t records = 0;
  REQUIRE(db->telemetry()->scan({}, [&](const telemetry_record&) { ++records; }));
  CHECK(records == 60);
}

TEST_CASE("a log cut in its last record by a crash opens with all records before it [I5]") {
  temp_dir dir;
  REQUIRE(run("die " + dir.path().string() + " 50") == 128 + 9);
  std::filesystem::path log;
  for (const auto& e : std::filesystem::directory_iterator(dir.store()))
    if (e.path().extension() == ".log" && e.file_size() > 0)
      log = e.path();
  REQUIRE_FALSE(log.empty());
  std::filesystem::resize_file(log, std::filesystem::file_size(log) - 5);
  auto db = database::open(dir.path(), {}).value();
  std::size_t records = 0;
  REQUIRE(db->telemetry()->scan({}, [&](const telemetry_record&) { ++records; }));
  CHECK(records == 49);
  CHECK(db->answers()->find("key 49").value() != nullptr);
}

TEST_CASE("a store that another process has open is locked, and says where and what to do [I13]") {
  temp_dir dir;
  REQUIRE(run("open " + dir.path().string()) == 0);
  auto db = database::open(dir.path(), {}).value();
  CHECK(run("open " + dir.path().string()) == 10 + static_cast<int>(store_error::kind::locked));
  db.reset();
  CHECK(run("open " + dir.path().string()) == 0);
}
