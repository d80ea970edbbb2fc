#include "memory_stores.hpp"

#include "support/catch.hpp"

#include <string>
#include <utility>

using namespace switchyard;

namespace {

void put(memory_answers& answers, const std::string& scope, std::string body) {
  stored_answer a;
  a.body = std::move(body);
  REQUIRE(answers.put(scope, a).has_value());
}

bool has(memory_answers& answers, const std::string& scope) {
  return answers.find(scope).value() != nullptr;
}

} // namespace

TEST_CASE("answers in memory are bounded in number, the one written longest ago goes first [I5]") {
  memory_answers answers{2};
  put(answers, "a", "1");
  put(answers, "b", "2");
  put(answers, "a", "3"); // is the younger one now
  put(answers, "c", "4");
  CHECK_FALSE(has(answers, "b"));
  CHECK(answers.find("a").value()->body == "3");
  CHECK(has(answers, "c"));
}

TEST_CASE("answers in memory are bounded in bytes, and the last one stays whatever its size [I5]") {
  memory_answers answers{100, 1000};
  put(answers, "a", std::string(400, 'x'));
  put(answers, "b", std::string(400, 'x'));
  put(answers, "a", std::string(500, 'x')); // 902 bytes: what it replaces counts no more
  CHECK(has(answers, "a"));
  CHECK(has(answers, "b"));
  put(answers, "c", std::string(400, 'x'));
  CHECK_FALSE(has(answers, "b"));
  CHECK(has(answers, "a"));
  CHECK(has(answers, "c"));
  put(answers, "d", std::string(2000, 'x'));
  CHECK(has(answers, "d"));
  CHECK_FALSE(has(answers, "a"));
  CHECK_FALSE(has(answers, "c"));
}

TEST_CASE("a key in memory that is deleted makes room [I6]") {
  memory_answers answers{100, 1000};
  put(answers, "a", std::string(900, 'x'));
  const key_change gone{"a", nullptr};
  REQUIRE(answers.write({&gone, 1}).has_value());
  CHECK_FALSE(has(answers, "a"));
  put(answers, "b", std::string(900, 'x'));
  put(answers, "c", "x");
  CHECK(has(answers, "b"));
  REQUIRE(answers.write({&gone, 1}).has_value()); // once more
}
