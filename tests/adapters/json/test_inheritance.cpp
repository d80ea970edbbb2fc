#include "support.hpp"

using namespace switchyard;
using namespace switchyard::test;

namespace {

std::string profiles(std::string_view circuits) {
  return with(smallest, "/circuits", circuits);
}

} // namespace

TEST_CASE("a profile with a base takes what it does not say itself from there [C5]") {
  const auto conf = loaded(profiles(
      R"({"default": {"consecutive_failures": 2, "cooldown": "50s"}, "short": {"base": "default", "cooldown": "20s"}})"));
  CHECK(conf.circuits.at("short").consecutive_failures == 2);
  CHECK(conf.circuits.at("short").cooldown == 20s);
  CHECK(conf.circuits.at("default").cooldown == 50s);
}

TEST_CASE("a profile without a base starts from the built-in defaults, and \"default\" is always there") {
  auto conf = loaded(profiles(R"({"default": {"consecutive_failures": 2}, "other": {"cooldown": "20s"}})"));
  CHECK(conf.circuits.at("other").consecutive_failures == 5);
  conf = loaded(profiles(R"({"other": {"base": "default", "cooldown": "20s"}})"));
  CHECK(conf.circuits.at("default").cooldown == 30s);
  CHECK(conf.circuits.at("other").cooldown == 20s);
}

TEST_CASE("bases are followed over several steps, in any order of the file") {
  const auto conf =
      loaded(profiles(R"({"c": {"base": "b", "probes": 3}, "b": {"base": "a", "scope": "model"}, "a": {"cooldown": "7s",
    "window": {"size": 10, "failure_rate": 0.5}}, "d": {"base": "c", "window": null}, "e": {"base": "c", "window": {"slow_call_rate": 0.1}}})"));
  const auto& c = conf.circuits.at("c");
  CHECK(c.cooldown == 7s);
  CHECK(c.scope == circuit_scope::model);
  CHECK(c.probes == 3);
  REQUIRE(c.window.has_value());
  CHECK(c.window->size == 10);
  CHECK_FALSE(conf.circuits.at("d").window.has_value());
  // A window is taken or replaced as a whole.
  CHECK(conf.circuits.at("e").window->size == 100);
  CHECK_FALSE(conf.circuits.at("e").window->failure_rate.has_value());
}

TEST_CASE("bases that are unknown or go in a circle are refused, and everything else is still checked") {
  auto error = refused(profiles(R"({"a": {"base": "nowhere", "probes": 0}})"));
  REQUIRE(error.problems.size() == 2);
  CHECK(problems_at(error, "/circuits/a/base").at(0).value == "\"nowhere\"");
  CHECK(problems_at(error, "/circuits/a/probes").size() == 1);
  error = refused(profiles(R"({"a": {"base": "b"}, "b": {"base": "c"}, "c": {"base": "a"}})"));
  CHECK(error.problems.size() == 1);
  CHECK(contains(error.problems[0].message, "inherit"));
  CHECK(refused(profiles(R"({"a": {"base": "a"}})")).problems.size() == 1);
  CHECK(refused(profiles(R"({"default": {"base": "default"}})")).problems.size() == 1);
  for (const auto* base : {"5", "null", "\"\"", "{}"})
    CHECK(refused(profiles(R"({"a": {"base": )" + std::string(base) + "}}")).problems.size() == 1);
}

TEST_CASE("a mistake that is inherited is told once, where it is made") {
  auto error = refused(
      profiles(R"({"a": {"probes": 0, "window": {}, "max_cooldown": "1s"}, "b": {"base": "a"}, "c": {"base": "b"}})"));
  INFO(error.text());
  CHECK(error.problems.size() == 3);
  for (const auto& problem : error.problems)
    CHECK(contains(problem.pointer, "/circuits/a/"));
  // But a profile that makes a base's value wrong is told.
  error = refused(profiles(R"({"a": {"max_cooldown": "1m"}, "b": {"base": "a", "cooldown": "2m"}})"));
  REQUIRE(error.problems.size() == 1);
  CHECK(error.problems[0].pointer == "/circuits/b/max_cooldown");
}

TEST_CASE("a default maximum follows the cooldown also through a base, a given one does not") {
  const auto conf = loaded(
      profiles(R"({"a": {}, "b": {"base": "a", "cooldown": "20m"}, "c": {"base": "b"}, "d": {"max_cooldown": "1h"},
    "e": {"base": "d", "cooldown": "20m"}})"));
  CHECK(conf.circuits.at("b").max_cooldown == 20min);
  CHECK(conf.circuits.at("c").max_cooldown == 20min);
  CHECK(conf.circuits.at("e").max_cooldown == 1h);
}

TEST_CASE("a chain of bases may be long") {
  std::string circuits = "{\"p0\": {\"probes\": 7}";
  constexpr int length = 20'000;
  for (int i = 1; i < length; ++i)
    circuits += ",\"p" + std::to_string(i) + "\": {\"base\": \"p" + std::to_string(i - 1) + "\"}";
  // The most derived one first, so that the whole chain is followed at once.
  circuits.insert(1, "\"first\": {\"base\": \"p" + std::to_string(length - 1) + "\"},");
  CHECK(loaded(profiles(circuits + "}")).circuits.at("first").probes == 7);
}

TEST_CASE("a mistake inherited by very many profiles is told once") {
  std::string circuits = "{\"default\": {\"probes\": 0}";
  for (int i = 0; i < 20'000; ++i)
    circuits += ",\"p/" + std::to_string(i) + "\": {\"base\": \"default\"}";
  const auto error = refused(profiles(circuits + "}"));
  REQUIRE(error.problems.size() == 1);
  CHECK(error.problems[0].pointer == "/circuits/default/probes");
}
