#include "switchyard/rocksdb/inspector.hpp"

#include "fixture.hpp"

#include "support/catch.hpp"

using namespace switchyard;
using namespace switchyard::store;
using namespace switchyard::store::test;

namespace {

wall_time now() {
  return wall_time(std::chrono::system_clock::now().time_since_epoch());
}

// Two requests, and a key in each state.
void fill(database& db) {
  REQUIRE(append(*db.telemetry(), {make_record("a", now() - 2h), make_record("b", now() - 1h)}));
  auto reserved = make_answer("", now());
  reserved.reserved = true;
  REQUIRE(db.answers()->put("reserved", reserved));
  REQUIRE(db.answers()->put("answered", make_answer("body", now())));
  REQUIRE(db.answers()->put("expired", make_answer("body", now() - 25h)));
}

std::uint64_t entries(const store_figures& all, std::string_view family) {
  for (const auto& f : all.families)
    if (f.name == family)
      return f.entries;
  return 0;
}

} // namespace

TEST_CASE("a store is looked into while it is open elsewhere, and not changed by that") {
  temp_dir dir;
  auto db = database::open(dir.path(), {}).value();
  fill(*db);
  const auto before = contents_of(dir.store());
  {
    const auto looking = inspector::open(dir.path()).value();
    const auto figures = looking->figures({}).value();
    CHECK(entries(figures, "telemetry") == 2);
    CHECK(figures.answers == 1);
    CHECK(figures.reservations == 1);
    CHECK(figures.expired == 1);
    REQUIRE(figures.oldest_row);
    CHECK(*figures.newest_row - *figures.oldest_row >= 59min);
    const auto rows = looking->rows_of("a").value();
    CHECK(rows.size() == 2);
    CHECK(looking->rows_of("c").value().empty());
    const auto checked = looking->check({}).value();
    CHECK(checked.problems.empty());
    CHECK(checked.entries >= 10);
  }
  // Nothing new and nothing other; the open database itself may meanwhile remove a file of its own that is obsolete.
  for (const auto& [file, bytes] : contents_of(dir.store())) {
    CAPTURE(file);
    REQUIRE(before.contains(file));
    CHECK(before.at(file) == bytes);
  }
  CHECK(db->answers()->put("later", make_answer("body")));
}

TEST_CASE("what cannot be understood, and a damaged file, are told without what is in them [H4]") {
  temp_dir dir;
  {
    auto db = database::open(dir.path(), {}).value();
    fill(*db);
    REQUIRE(db->answers()->put("secret", make_answer(std::string(100'000, 's'), now())));
    REQUIRE(db->compact()); // into files
  }
  std::filesystem::path largest;
  for (const auto& e : std::filesystem::directory_iterator(dir.store()))
    if (e.path().extension() == ".sst" &&
        (largest.empty() || std::filesystem::file_size(e.path()) > std::filesystem::file_size(largest)))
      largest = e.path();
  REQUIRE_FALSE(largest.empty());
  auto bytes = contents_of(dir.store()).at(largest.filename().string());
  for (std::size_t i = 20; i < 40; ++i) // amid the first block
    bytes.at(i) = static_cast<char>(~bytes.at(i));
  overwrite(largest, bytes);
  const auto looking = inspector::open(dir.path());
  REQUIRE(looking);
  const auto checked = (*looking)->check({}).value();
  REQUIRE_FALSE(checked.problems.empty());
  for (const auto& problem : checked.problems)
    CHECK(problem.find("secret") == std::string::npos);
}

TEST_CASE("where there is no store it says so, and makes none") {
  temp_dir dir;
  const auto missing = inspector::open(dir.path() / "nowhere");
  REQUIRE(missing.has_error());
  CHECK(missing.error().message.find("there is no store in") != std::string::npos);
  CHECK(inspector::open(dir.path()).has_error());
  CHECK(purge(dir.path(), {}, {}).has_error());
  CHECK(std::filesystem::is_empty(dir.path()));
}

TEST_CASE("purging needs the store for itself, and drops what is expired or older than wanted") {
  temp_dir dir;
  {
    auto db = database::open(dir.path(), {}).value();
    fill(*db);
    const auto refused = purge(dir.path(), {}, {});
    REQUIRE(refused.has_error());
    CHECK(refused.error().what == store_error::kind::locked);
  }
  std::uint64_t told = 0;
  const auto purged = purge(dir.path(), {}, [&](std::uint64_t done, std::uint64_t about) {
    ++told;
    CHECK(done <= about);
  });
  REQUIRE(purged.has_value());
  CHECK(purged->entries_after == purged->entries_before - 1); // the expired answer
  CHECK(purged->bytes_after > 0);
  CHECK(told > 1);
  {
    const auto looking = inspector::open(dir.path()).value();
    const auto figures = looking->figures({}).value();
    CHECK(figures.expired == 0);
    CHECK(figures.answers == 1);
    CHECK(figures.reservations == 1);
    CHECK(looking->rows_of("a").value().size() == 2);
  }
  REQUIRE(purge(dir.path(), 90min, {}).has_value());
  const auto looking = inspector::open(dir.path()).value();
  CHECK(looking->rows_of("a").value().empty());
  CHECK(looking->rows_of("b").value().size() == 2);
}
