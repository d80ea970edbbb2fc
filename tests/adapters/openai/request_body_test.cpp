#include "switchyard/openai/body.hpp"

#include "support/catch.hpp"

#include <string>
#include <vector>

using namespace switchyard::openai;

namespace {

request_view inspected(std::string_view body) {
  const auto result = inspect_request(body);
  INFO(body);
  REQUIRE(result.has_value());
  return *result;
}

std::string nested(std::size_t levels) {
  return std::string(levels, '[') + std::string(levels, ']');
}

// The text that a request is refused with.
std::string refused(std::string_view body) {
  const auto result = inspect_request(body);
  INFO(body);
  REQUIRE(result.has_error());
  return result.error();
}

} // namespace

TEST_CASE("a request's model, stream and output limit are found at the top level only") {
  const auto view = inspected(R"({"messages":[{"role":"user","content":"{\"model\":\"no\"}","model":"no"}],)"
                              R"("metadata":{"model":"no","stream":true,"max_tokens":9},"model":"chat"})");
  CHECK(view.model == "chat");
  CHECK_FALSE(view.stream);
  CHECK_FALSE(view.output_limit);
  CHECK(view.model_spans.size() == 1);
}

TEST_CASE("stream is true, false or null") {
  CHECK(inspected(R"({"model":"m","stream":true})").stream);
  CHECK_FALSE(inspected(R"({"model":"m","stream":false})").stream);
  CHECK_FALSE(inspected(R"({"model":"m","stream":null})").stream);
  CHECK_FALSE(inspected(R"({"model":"m","stream":true,"stream":false})").stream);
}

TEST_CASE("a key written with escapes is the same key") {
  const auto view = inspected(R"({"\u006dod\u0065l":"chat","str\u0065am":true,"\u006Dax_tokens":5})");
  CHECK(view.model == "chat");
  CHECK(view.stream);
  CHECK(view.output_limit == 5u);
}

TEST_CASE("keys that only look like the known ones are others") {
  const auto view =
      inspected(R"({"Model":1,"model ":2,"mode\u006c\u006c":3,"\\u006dodel":4,"model\u0000":5,"":6,"model":"m"})");
  CHECK(view.model == "m");
  CHECK(view.model_spans.size() == 1);
}

TEST_CASE("a model's text is decoded") {
  CHECK(inspected(R"({"model":"gpt\u002d4\/\"x\"\\ \ud83d\ude00"})").model == "gpt-4/\"x\"\\ \xF0\x9F\x98\x80");
}

TEST_CASE("of several models the last is taken and all are replaced") {
  const std::string body = R"({"model":"a","x":["model"],"\u006dodel":"b"})";
  const auto view = inspected(body);
  CHECK(view.model == "b");
  CHECK(with_model(body, view, "gpt-4o") == R"({"model":"gpt-4o","x":["model"],"\u006dodel":"gpt-4o"})");
}

TEST_CASE("replacing the model keeps every other byte") {
  const std::string body = "\r\n{ \"seed\" : 123456789012345678901234567890, \"t\":1.0e-07,\t\"model\" : \"a\" \n,"
                           "\"big\":-1E+400, \"s\":\"\\u00e9\\/\xC3\xA9\", \"m\":{\"model\":\"keep\"} }\n ";
  const auto view = inspected(body);
  CHECK(with_model(body, view, "longer-name") ==
        "\r\n{ \"seed\" : 123456789012345678901234567890, \"t\":1.0e-07,\t\"model\" : \"longer-name\" \n,"
        "\"big\":-1E+400, \"s\":\"\\u00e9\\/\xC3\xA9\", \"m\":{\"model\":\"keep\"} }\n ");
}

TEST_CASE("a model with quotes, backslashes and controls is escaped when put in") {
  const std::string body = R"({"model":"a"})";
  CHECK(with_model(body, inspected(body), "x\"y\\z\n") == R"({"model":"x\"y\\z\n"})");
}

TEST_CASE("output limits: the largest counts, anything but a count is left to the provider") {
  const std::vector<std::pair<std::string, std::optional<std::uint64_t>>> table{
      {R"("max_tokens":7)", 7},
      {R"("max_completion_tokens":7)", 7},
      {R"("max_output_tokens":7)", 7},
      {R"("max_tokens":7,"max_completion_tokens":9,"max_output_tokens":8)", 9},
      {R"("max_tokens":0)", 0},
      {R"("max_tokens":1e3)", 1000},
      {R"("max_tokens":100.0)", 100},
      {R"("max_tokens":2.9)", 2},
      {R"("max_tokens":9007199254740993)", max_output_limit},
      {R"("max_tokens":99999999999999999999999999)", max_output_limit},
      {R"("max_tokens":1e30)", max_output_limit},
      {R"("max_tokens":1e999)", std::nullopt},
      {R"("max_tokens":-1)", std::nullopt},
      {R"("max_tokens":-0.5)", std::nullopt},
      {R"("max_tokens":null)", std::nullopt},
      {R"("max_tokens":"7")", std::nullopt},
      {R"("max_tokens":[7])", std::nullopt},
      {R"("max_tokens":true)", std::nullopt},
  };
  for (const auto& [member, limit] : table) {
    INFO(member);
    CHECK(inspected("{\"model\":\"m\"," + member + "}").output_limit == limit);
  }
}

TEST_CASE("tokens are estimated from the body's bytes and the output limit [U1]") {
  const std::string with_limit = R"({"model":"m","max_tokens":50,"prompt":")" + std::string(400, 'x') + "\"}";
  const auto limited = inspected(with_limit);
  CHECK(limited.estimated_input_tokens == with_limit.size() / 4);
  CHECK(limited.estimated_tokens == with_limit.size() / 4 + 50);

  const std::string without = R"({"model":"m"})";
  CHECK(inspected(without).estimated_tokens == without.size() / 4 + 1024);
}

TEST_CASE("a refused request is told why") {
  const std::vector<std::pair<std::string, std::string>> table{
      {"", "the request body is empty; a JSON object with a \"model\" is needed"},
      {" \r\n\t", "the request body is empty; a JSON object with a \"model\" is needed"},
      {"{}", "the request has no \"model\""},
      {R"({"Model":"m"})", "the request has no \"model\""},
      {R"({"model":null})", "\"model\" must be a string, not null"},
      {R"({"model":7})", "\"model\" must be a string, not a number"},
      {R"({"model":true})", "\"model\" must be a string, not a boolean"},
      {R"({"model":["m"]})", "\"model\" must be a string, not an array"},
      {R"({"model":{"model":"m"}})", "\"model\" must be a string, not an object"},
      {R"({"model":"m","model":1})", "\"model\" must be a string, not a number"},
      {R"({"model":""})", "\"model\" is empty"},
      {R"({"model":"m","stream":"true"})", "\"stream\" must be true or false, not a string"},
      {R"({"model":"m","stream":1})", "\"stream\" must be true or false, not a number"},
      {"[]", "the request body must be a JSON object, not an array"},
      {" \"model\" ", "the request body must be a JSON object, not a string"},
      {"null", "the request body must be a JSON object, not null"},
      {"-1.5", "the request body must be a JSON object, not a number"},
      {"false", "the request body must be a JSON object, not a boolean"},
      {"\xEF\xBB\xBF{\"model\":\"m\"}", "the request body begins with a byte order mark; JSON is UTF-8 without one"},
      {"{\"model\":\"m\xFF\"}", "the request body is not valid UTF-8 at byte 11"},
      {"{\"model\":\"\xC0\xAF\"}", "the request body is not valid UTF-8 at byte 10"},
      {"{\"model\":\"\xED\xA0\x80\"}", "the request body is not valid UTF-8 at byte 10"},
      {"{\"model\":\"\xF4\x90\x80\x80\"}", "the request body is not valid UTF-8 at byte 10"},
  };
  for (const auto& [body, text] : table)
    CHECK(refused(body) == text);
}

TEST_CASE("a body that is not JSON is refused with the reason and the byte") {
  const std::vector<std::pair<std::string, std::string>> table{
      {"model=m", " at byte 0"},
      {R"({"model":"m",})", " at byte 13"},
      {R"({"model":"m"} x)", " at byte 14"},
      {R"({"model":"m"}{"model":"m"})", " at byte 13"},
      {R"({'model':"m"})", " at byte 1"},
      {R"({"model":"m","n":01})", " at byte 18"},
      {R"({"model":"m")", " at byte 12"},
      {R"({"model":"m)", " at byte 11"},
      {"{\"model\":\"a\nb\"}", " at byte 11"},
      {R"({"model":"m"/* c */})", " at byte 12"},
      {R"({"model":"m","n":NaN})", " at byte 17"},
      {R"({"model":"\ud800"})", " at byte "},
      {std::string("\0", 1), " at byte 0"},
  };
  for (const auto& [body, place] : table) {
    const auto text = refused(body);
    INFO(text);
    CHECK(text.starts_with("the request body is not JSON: "));
    CHECK(text.find(place) != std::string::npos);
  }
}

TEST_CASE("nesting is bounded: deep bodies pass, deeper ones are refused, no depth crashes") {
  const auto body = [](std::size_t levels) { return R"({"model":"m","x":)" + nested(levels - 1) + "}"; };
  CHECK(inspect_request(body(max_depth)).has_value());
  CHECK(refused(body(max_depth + 1)).starts_with("the request body is nested deeper than 256 levels at byte "));
  CHECK(refused(body(1'000'000)).starts_with("the request body is nested deeper than 256 levels at byte "));
  CHECK(refused(std::string(1'000'000, '[')).starts_with("the request body is nested deeper than 256 levels"));
}
