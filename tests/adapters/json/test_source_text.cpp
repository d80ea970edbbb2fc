#include "support.hpp"

using namespace switchyard;
using namespace switchyard::test;

namespace {

config_problem only_problem(std::string_view text) {
  const auto error = refused(text);
  INFO(error.text());
  REQUIRE(error.problems.size() == 1);
  return error.problems.front();
}

} // namespace

TEST_CASE("a syntax error gives its line and column") {
  auto problem = only_problem("{\n  \"providers\": {},\n  \"routes\" {}\n}");
  CHECK(problem.line == 3);
  CHECK(problem.column == 12);
  CHECK(contains(refused("{\n  \"providers\": {},\n  \"routes\" {}\n}").text(), "test.json:3:12: not JSON"));
  problem = only_problem("// one\n/* two\nthree */ {\n \"a\": NaN }");
  CHECK(problem.line == 4);
  CHECK(problem.column == 7);
  CHECK(only_problem("{\n\"a\": Infinity}").line == 2);
  CHECK(only_problem("{\n\"a\": -Infinity}").line == 2);
}

TEST_CASE("a text that is no object is refused") {
  for (const auto* text : {"[]", "null", "1", "\"text\"", "true"}) {
    const auto problem = only_problem(text);
    CHECK(problem.pointer.empty());
    CHECK(problem.message == "accepted: an object");
  }
}

TEST_CASE("a text that ends too early says so") {
  for (const auto* text : {"", "  \n", "{", "{\"providers\": ", "{\"providers", "{\"a\": [1, 2", "// only a comment"}) {
    INFO(text);
    CHECK(contains(only_problem(text).message, "ends before"));
  }
}

TEST_CASE("a comment without an end is refused where it starts") {
  const auto problem = only_problem("{}\n  /* no end *");
  CHECK(problem.line == 2);
  CHECK(problem.column == 3);
  CHECK(contains(only_problem("/*").message, "no end"));
  CHECK(contains(only_problem("{} /").message, "something follows"));
}

TEST_CASE("something after the configuration is refused") {
  CHECK(contains(only_problem(std::string(smallest) + "\n{}").message, "something follows"));
  CHECK(only_problem(std::string(smallest) + "\n  x").column == 3);
}

TEST_CASE("comments of both kinds and trailing commas are accepted, also at the very end") {
  loaded("/* a */ // b\n{ // c\n\"providers\": {\"a\": {\"base_url\": \"http://h//not/a/comment\", }, }, /*,*/ "
         "\"routes\": {\"r\": {\"provider\": \"a\", \"model\": "
         "\"/*m*/\", \"fallback\": [ ], },\n},} // no line break at the end");
  CHECK(loaded(std::string(full)).providers.size() == 2);
}

TEST_CASE("comment signs and escapes inside strings stay") {
  const auto conf = loaded(
      R"({"providers": {"a": {"base_url": "http://h"}}, "routes": {"r": {"provider": "a", "model": "x\"//\"/*\\"}}})");
  CHECK(conf.routes.at("r").model == "x\"//\"/*\\");
}

TEST_CASE("a byte order mark is accepted") {
  loaded("\xEF\xBB\xBF" + std::string(smallest));
}

TEST_CASE("what is not UTF-8 is refused with its line") {
  for (const auto* bytes :
       {"\xFF", "\xC0\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE2\x82", "\x80", "\xF0\x80\x80\x80"}) {
    const auto problem = only_problem("{\n\"a\": \"" + std::string(bytes) + "\"}");
    CHECK(problem.line == 2);
    CHECK(contains(problem.message, "UTF-8"));
    CHECK(contains(only_problem("// " + std::string(bytes) + "\n{}").message, "UTF-8"));
  }
  CHECK(contains(only_problem("\xFF\xFE{\0}\0").message, "UTF-8")); // UTF-16
  const auto named = with(smallest, "/routes/chat/model", "\"\xC3\xBC \xE2\x82\xAC \xF0\x9F\x98\x80\"");
  CHECK(loaded(named).routes.at("chat").model == "\xC3\xBC \xE2\x82\xAC \xF0\x9F\x98\x80");
}

TEST_CASE("deep nesting is refused, whatever its depth") {
  for (const std::size_t depth : {33u, 1'000u, 1'000'000u}) {
    const std::string arrays(depth, '[');
    CHECK(contains(only_problem(arrays).message, "nested deeper"));
    std::string objects;
    for (std::size_t i = 0; i < depth; ++i)
      objects += "{\"a\":";
    CHECK(contains(only_problem(objects).message, "nested deeper"));
  }
}

TEST_CASE("a text over the limit is refused") {
  CHECK(contains(only_problem(std::string(longest_config_text + 1, ' ')).message, "longer than"));
}

TEST_CASE("a key given twice is an error in its own line") {
  const auto error = refused(R"({
  "providers": { "alpha": { "base_url": "http://127.0.0.1:9/v1",
                            "base_url": "http://127.0.0.1:8/v1" } },
  "routes": { "chat": { "provider": "alpha", "model": "m" } },
  "routes": { "ch\u0061t": { "provider": "alpha", "model": "m" }, "chat": { "provider": "alpha", "model": "m" } }
})");
  INFO(error.text());
  REQUIRE(error.problems.size() == 3);
  CHECK(error.problems[0].pointer == "/providers/alpha/base_url");
  CHECK(error.problems[0].line == 3);
  CHECK(contains(error.problems[0].message, "twice"));
  CHECK(contains(error.problems[0].message, "line 2"));
  CHECK(problems_at(error, "/routes").size() == 1);
  CHECK(problems_at(error, "/routes/chat").size() == 1); // two spellings of one key
}

TEST_CASE("every problem names the line of its value, or of the object that lacks it") {
  const auto error = refused(R"({
  "providers": {
    "alpha": {
      "base_url": "http://127.0.0.1:9/v1",
      "max_concurrency":
         0 } },
  "routes": {
    "chat":
      { "provider": "alpha" },
    "a/b~c": { "provider": "alpha", "model": "m",
      "fallback": [ "chat",
        7 ] }
  }
})");
  INFO(error.text());
  REQUIRE(error.problems.size() == 3);
  CHECK(error.problems[0].pointer == "/providers/alpha/max_concurrency");
  CHECK(error.problems[0].line == 6);
  CHECK(error.problems[1].pointer == "/routes/chat/model");
  CHECK(error.problems[1].line == 9);
  CHECK(error.problems[2].pointer == "/routes/a~1b~0c/fallback/1");
  CHECK(error.problems[2].line == 12);
  CHECK(contains(error.text(),
                 "test.json:6: /providers/alpha/max_concurrency: 0: accepted: a whole number from 1 to 1000000"));
}
