#include "codec.hpp"
#include "core.hpp"
#include "fixture.hpp"
#include "store_directory.hpp"

#include "support/catch.hpp"

#include <thread>

using namespace switchyard;
using namespace switchyard::store;
using namespace switchyard::store::test;

namespace {

void check_same(const stored_answer& a, const stored_answer& b) {
  CHECK(a.fingerprint == b.fingerprint);
  CHECK(a.status == b.status);
  CHECK(a.content_type == b.content_type);
  CHECK(a.body == b.body);
  CHECK(a.stored_at == b.stored_at);
  CHECK(a.ttl == b.ttl);
}

} // namespace

TEST_CASE("an answer is found under its own scope only, byte for byte [I2 I5]") {
  temp_dir dir;
  auto db = database::open(dir.path(), {}).value();
  auto answers = db->answers();
  std::string scope("acme\0/v1/chat\0k", 15), other("acme\0/v1/chat\0kk", 16);
  auto stored = make_answer(std::string("a\0b\xff", 4));
  REQUIRE(answers->put(scope, stored));

  auto found = answers->find(scope).value();
  REQUIRE(found);
  check_same(*found, stored);
  CHECK(answers->find(other).value() == nullptr);
  CHECK(answers->find(scope.substr(0, 14)).value() == nullptr);
}

TEST_CASE("a later answer replaces an earlier one, an empty and a large one are kept [I5]") {
  temp_dir dir;
  auto answers = database::open(dir.path(), {}).value()->answers();
  REQUIRE(answers->put("k", make_answer("first")));
  REQUIRE(answers->put("k", make_answer("")));
  CHECK(answers->find("k").value()->body.empty());
  std::string large(5 << 20, 'x');
  REQUIRE(answers->put("k", make_answer(large)));
  CHECK(answers->find("k").value()->body == large);
}

TEST_CASE("answers survive a clean close with either durability [I5 I11]") {
  temp_dir dir;
  options o;
  o.durability = GENERATE(idempotency_settings::durability_mode::process, idempotency_settings::durability_mode::power);
  {
    auto db = database::open(dir.path(), o).value();
    for (int i = 0; i < 100; ++i)
      REQUIRE(db->answers()->put("k" + std::to_string(i), make_answer("body " + std::to_string(i))));
  }
  auto db = database::open(dir.path(), o).value();
  for (int i = 0; i < 100; ++i)
    CHECK(db->answers()->find("k" + std::to_string(i)).value()->body == "body " + std::to_string(i));
}

TEST_CASE("an expired answer is still returned: the ledger decides [I5 C18]") {
  temp_dir dir;
  auto now = epoch;
  auto answers = database::open(dir.path(), with_clock(&now)).value()->answers();
  REQUIRE(answers->put("k", make_answer("body", epoch, 1s)));
  now += 10s;
  auto found = answers->find("k").value();
  REQUIRE(found);
  CHECK_FALSE(found->body.empty());
}

TEST_CASE("an answer that cannot be decoded is an error, not a miss [I13]") {
  temp_dir dir;
  {
    options o;
    o.clock = [] { return epoch; };
    auto c = core::open(prepare_store_directory(dir.path()).value(), o, {}).value();
    REQUIRE(c->write([](rocksdb::WriteBatch& batch,
                        const open_database& d) { CHECK(batch.Put(d.handle(family_answers), "k", "\x7f newer").ok()); },
                     false));
  }
  auto db = database::open(dir.path(), {}).value();
  auto found = db->answers()->find("k");
  REQUIRE(found.has_error());
  CHECK(found.error().what == store_error::kind::corrupt);
  CHECK(found.error().message.find("newer of") == std::string::npos); // no content
}

TEST_CASE("four threads store and find at once [I11]") {
  temp_dir dir;
  options o;
  o.durability = idempotency_settings::durability_mode::power;
  auto answers = database::open(dir.path(), o).value()->answers();
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        auto key = std::to_string(t) + "/" + std::to_string(i);
        if (!answers->put(key, make_answer(key)) || answers->find(key).value()->body != key)
          ++wrong;
      }
    });
  for (auto& t : threads)
    t.join();
  CHECK(wrong == 0);
}
