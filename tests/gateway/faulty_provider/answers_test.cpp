// The answers, judged by the very rules that a client of the provider goes by.

#include "answers.hpp"

#include "support/catch.hpp"

#include <boost/json.hpp>

using namespace faulty;
using switchyard::failure_class;
namespace json = boost::json;

namespace {

constexpr operation operations[]{operation::chat_completions, operation::completions, operation::embeddings,
                                 operation::responses};

call some_call(operation what) {
  return {.what = what,
          .number = 1,
          .model = "m",
          .stream = false,
          .include_usage = false,
          .text = "one two three",
          .inputs = 2,
          .input_tokens = 9};
}

switchyard::provider_result judged(operation what, std::string body, int status = 200) {
  switchyard::provider_result result;
  result.status = status;
  result.body = std::move(body);
  inspect_answer(what, result);
  return result;
}

std::string text_echoed(operation what, std::string_view body) {
  const auto c = read_call(what, body, "alpha");
  REQUIRE(c.has_value());
  return c->text;
}

} // namespace

TEST_CASE("each behaviour of a body is what a client takes it for [F, F4]") {
  for (const auto what : operations) {
    const auto c = some_call(what);
    const auto failure = [&](behaviour b) { return judged(what, whole_answer(c, b)).failure; };
    CHECK_FALSE(failure(behaviour::answer));
    CHECK(failure(behaviour::empty_body) == failure_class::empty_response);
    CHECK(failure(behaviour::no_content) == failure_class::empty_response);
    CHECK(failure(behaviour::malformed_body) == failure_class::soft_failure);
    CHECK(failure(behaviour::error_in_200) == failure_class::soft_failure);
  }
}

TEST_CASE("answers have usage: input from the body's length, output by words") {
  for (const auto what : operations) {
    const auto tokens = judged(what, whole_answer(some_call(what), behaviour::answer)).tokens;
    CHECK(tokens.input == 9u);
    CHECK(tokens.output == (what == operation::embeddings ? 0u : 3u));
  }
}

TEST_CASE("an error's code is read by a client") {
  CHECK(judged(operation::responses, error_body("x", "t", "context_length_exceeded"), 400).failure ==
        failure_class::context_length);
  CHECK(json::parse(error_body("x", "t", "")).at("error").at("code").is_null());
}

TEST_CASE("what was said last is echoed, or the provider's name") {
  CHECK(text_echoed(operation::chat_completions,
                    R"({"model":"m","messages":[{"content":"a"},{"role":"user","content":"hi there"}]})") ==
        "You said: hi there");
  CHECK(text_echoed(operation::chat_completions,
                    R"({"model":"m","messages":[{"content":[{"type":"text","text":"part"}]}]})") == "You said: part");
  CHECK(text_echoed(operation::completions, R"({"model":"m","prompt":"p"})") == "You said: p");
  CHECK(text_echoed(operation::completions, R"({"model":"m","prompt":["p","q"]})") == "You said: q");
  CHECK(text_echoed(operation::responses, R"({"model":"m","input":"i"})") == "You said: i");
  CHECK(text_echoed(operation::responses, R"({"model":"m","input":[{"role":"user","content":"j"}]})") == "You said: j");
  for (const auto* body : {R"({"model":"m"})", R"({"model":"m","messages":[]})", R"({"model":"m","messages":{}})",
                           R"({"model":"m","messages":[1]})", R"({"model":"m","messages":[{"content":[[]]}]})"})
    CHECK(text_echoed(operation::chat_completions, body) == "Hello from alpha");
}

TEST_CASE("a long text is cut, but never within a character") {
  std::string body = R"({"model":"m","prompt":"x)";
  for (int i = 0; i < 100; ++i)
    body += "\xC3\xA9";
  const auto text = text_echoed(operation::completions, body + "\"}");
  CHECK(text.size() < 80);
  json::error_code ec;
  json::parse("\"" + text + "\"", ec);
  CHECK_FALSE(ec);
}

TEST_CASE("a request without a model is refused with a text") {
  CHECK(read_call(operation::embeddings, "{}", "alpha").error() == "the request has no \"model\"");
}

TEST_CASE("embeddings are as many as the inputs") {
  const auto c = read_call(operation::embeddings, R"({"model":"m","input":["a","b","c"]})", "alpha");
  CHECK(json::parse(whole_answer(*c, behaviour::answer)).at("data").as_array().size() == 3);
}

TEST_CASE("usage in a stream is asked for by its option alone") {
  const auto asks = [](const std::string& options) {
    return read_call(operation::chat_completions, R"({"model":"m","stream":true)" + options + "}", "a")->include_usage;
  };
  CHECK(asks(R"(,"stream_options":{"include_usage":true})"));
  CHECK_FALSE(asks(""));
  CHECK_FALSE(asks(R"(,"stream_options":{"include_usage":false})"));
  CHECK_FALSE(asks(R"(,"stream_options":{"include_usage":1})"));
  CHECK_FALSE(asks(R"(,"stream_options":null)"));
}
