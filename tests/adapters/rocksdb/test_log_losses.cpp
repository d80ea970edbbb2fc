#include "fixture.hpp"

#include "log_losses.hpp"
#include "open_hooks.hpp"

#include "support/catch.hpp"

#include <sys/wait.h>

#include <cstdlib>

using namespace switchyard;
using namespace switchyard::store;
using namespace switchyard::store::test;
namespace fs = std::filesystem;

namespace {

/// Ends a process that stored that many answers and rows by SIGKILL.
void die_after(const temp_dir& dir, int count) {
  const auto command =
      "exec " SWITCHYARD_STORE_PROCESS " die " + dir.path().string() + " " + std::to_string(count) + " 2>/dev/null";
  const int status = std::system(command.c_str());
  REQUIRE(WIFSIGNALED(status));
}

/// The logs that hold something, oldest first.
std::vector<fs::path> logs_of(const temp_dir& dir) {
  std::vector<fs::path> logs;
  for (const auto& e : fs::directory_iterator(dir.store()))
    if (e.path().extension() == ".log" && e.file_size() > 0)
      logs.push_back(e.path());
  std::ranges::sort(logs);
  return logs;
}

/// What an opening says, and how many of the answers are there.
struct opening {
  std::vector<std::string> warnings;
  int answers = 0;
};

opening open_and_count(const temp_dir& dir, int count) {
  opening o;
  options with_log;
  with_log.log = [&](log_level level, const std::string& text) {
    CHECK(level == log_level::warning);
    o.warnings.push_back(text);
  };
  auto db = database::open(dir.path(), with_log).value();
  for (int i = 0; i < count; ++i)
    o.answers += db->answers()->find("key " + std::to_string(i)).value() != nullptr;
  return o;
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("a store that lost nothing opens without a warning, however it was ended [I5]") {
  temp_dir dir;
  CHECK(open_and_count(dir, 0).warnings.empty()); // new
  CHECK(open_and_count(dir, 0).warnings.empty()); // closed
  for (int i = 0; i < 3; ++i) {
    die_after(dir, 200);
    const auto o = open_and_count(dir, 200);
    CHECK(o.warnings.empty());
    CHECK(o.answers == 200);
  }
}

TEST_CASE("writes over many blocks and logs, with flushes between them, show no loss") {
  temp_dir dir;
  open_hooks hooks;
  hooks.write_buffer = 256 << 10;
  for (int round = 0; round < 3; ++round) {
    auto db = open_with(dir.path(), {}, hooks).value();
    // Bodies of all lengths: records end everywhere in a block, and are split over several.
    for (std::size_t i = 0; i < 300; ++i) {
      REQUIRE(db->answers()->put("k" + std::to_string(i), make_answer(std::string(i * 331 % 100'000, 'b'))));
      REQUIRE(append(*db->telemetry(), {make_record("r" + std::to_string(i), epoch)}));
    }
    db.reset();
    CHECK(find_log_losses(dir.store()).empty());
  }
}

TEST_CASE("a write-ahead log cut within a write was passed over in silence [I5 H4]") {
  temp_dir dir;
  die_after(dir, 50);
  const auto log = logs_of(dir).back();
  const auto size = fs::file_size(log);
  // The last write is a batch of telemetry rows, the one before it an answer: each cut takes at most those.
  for (const std::uintmax_t cut : {1u, 5u, 40u}) {
    fs::resize_file(log, size - cut);
    const auto losses = find_log_losses(dir.store());
    REQUIRE(losses.size() == 1);
    CHECK(has(losses[0], log.string()));
    CHECK(has(losses[0], "ends within a write"));
  }
  const auto o = open_and_count(dir, 50);
  REQUIRE(o.warnings.size() == 1);
  CHECK(has(o.warnings[0], "idempotency keys or telemetry rows that were written together"));
  CHECK(o.answers == 50);
}

TEST_CASE("every length to which a log can be cut is a loss, but for those between two writes") {
  temp_dir dir;
  die_after(dir, 3);
  const auto log = logs_of(dir).back();
  const auto bytes = contents_of(dir.store()).at(log.filename());
  std::size_t whole = 0;
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    overwrite(log, bytes.substr(0, size));
    whole += find_log_losses(dir.store()).empty();
  }
  // The beginning, the format's entry, and three answers and batches of rows.
  CHECK(whole == 8);
}

TEST_CASE("zeros at the end of a log, as a power failure leaves them, are a loss") {
  temp_dir dir;
  die_after(dir, 20);
  const auto log = logs_of(dir).back();
  fs::resize_file(log, fs::file_size(log) + 500);
  const auto o = open_and_count(dir, 20);
  REQUIRE(o.warnings.size() == 1);
  CHECK(has(o.warnings[0], "its last 500 bytes"));
  CHECK(o.answers == 20);
}

TEST_CASE("zeros in place of many writes were told as the loss of one at most [I5 H4]") {
  temp_dir dir;
  die_after(dir, 20);
  const auto log = logs_of(dir).back();
  const auto size = fs::file_size(log);
  auto kept = size / 2;
  for (fs::resize_file(log, kept); !find_log_losses(dir.store()).empty(); fs::resize_file(log, --kept)) {
  } // down to the end of a write
  fs::resize_file(log, size);
  const auto o = open_and_count(dir, 20);
  REQUIRE(o.warnings.size() == 1);
  CHECK(o.answers < 19);
  CHECK(has(o.warnings[0], "how many is not known"));
}

TEST_CASE("a missing write-ahead log was passed over in silence [I5 H4]") {
  temp_dir dir;
  die_after(dir, 50);
  for (const auto& log : logs_of(dir))
    fs::remove(log);
  const auto o = open_and_count(dir, 50);
  REQUIRE(o.warnings.size() == 1);
  CHECK(has(o.warnings[0], dir.store().string()));
  CHECK(has(o.warnings[0], "is missing"));
  CHECK(o.answers == 0);
  CHECK(open_and_count(dir, 50).warnings.empty()); // told once
}

TEST_CASE("a log missing between others is told with the number of entries lost") {
  temp_dir dir;
  for (int i = 0; i < 3; ++i)
    die_after(dir, 5);
  const auto logs = logs_of(dir);
  REQUIRE(logs.size() == 3);
  fs::remove(logs[1]);
  const auto o = open_and_count(dir, 5);
  REQUIRE(o.warnings.size() == 1);
  CHECK(has(o.warnings[0], "has a gap before or in " + logs[2].filename().string()));
  // An answer is one entry; a record of a request without attempts one row and one in the index of request ids.
  CHECK(has(o.warnings[0], ": 15 entries"));
}

TEST_CASE("files that are no logs are the opening's affair") {
  temp_dir dir;
  die_after(dir, 5);
  const auto log = logs_of(dir).back();
  overwrite(log, std::string(5000, '\xa5'));
  CHECK_NOTHROW(find_log_losses(dir.store()));
  fs::remove(log);
  fs::create_directory(log);
  CHECK_NOTHROW(find_log_losses(dir.store()));
  CHECK(find_log_losses(dir.path() / "nothing").empty());
}
