#include "switchyard/openai/body.hpp"

#include "support/catch.hpp"

#include <string>
#include <vector>

using namespace switchyard;
using openai::operation;

namespace {

constexpr auto chat = operation::chat_completions;
constexpr auto completions = operation::completions;
constexpr auto embeddings = operation::embeddings;
constexpr auto responses = operation::responses;

provider_result judged(operation op, std::string body, int status = 200) {
  provider_result result;
  result.status = status;
  result.body = std::move(body);
  inspect_answer(op, result);
  return result;
}

std::string choice(std::string_view members) {
  return R"({"id":"1","choices":[{"index":0,)" + std::string(members) + "}]}";
}
std::string message(std::string_view members) {
  return choice(R"("finish_reason":"stop","message":{"role":"assistant",)" + std::string(members) + "}");
}

} // namespace

TEST_CASE("each form of content makes an answer usable [F]") {
  const std::vector<std::pair<operation, std::string>> table{
      {chat, message(R"("content":"hi")")},
      {chat, message(R"("content":" ")")},
      {chat, message(R"("content":"\u00e9")")},
      {chat, message(R"("content":[{"type":"text","text":"hi"}])")},
      {chat, message(R"("content":null,"tool_calls":[{"id":"c","function":{"name":"f","arguments":""}}])")},
      {chat, message(R"("content":null,"function_call":{"name":"f","arguments":"{}"})")},
      {chat, message(R"("content":null,"refusal":"I cannot")")},
      {chat, message(R"("content":null,"audio":{"id":"a"})")},
      {chat, message(R"("content":"","reasoning_content":"hm")")},
      {chat, choice(R"("finish_reason":"length","message":{"content":""})")},
      {chat, choice(R"("finish_reason":"content_filter","message":{"content":""})")},
      {chat, choice(R"("message":{"content":""},"finish_reason":"tool_calls")")},
      {chat, R"({"choices":[{"message":{"content":""}},{"message":{"content":"second"}}]})"},
      {chat, R"({"ch\u006fices":[{"messa\u0067e":{"con\u0074ent":"hi"}}]})"},
      {chat, R"({"error":null,"choices":[{"message":{"content":"hi"}}]})"},
      {completions, choice(R"("text":"hi","finish_reason":"stop")")},
      {completions, choice(R"("text":"","finish_reason":"length")")},
      {completions, choice(R"("text":"","finish_reason":"content_filter")")},
      {completions, choice(R"("text":"","finish_reason":"tool_calls")")},
      {embeddings, R"({"object":"list","data":[{"embedding":[0.1]}]})"},
      {responses, R"({"status":"completed","error":null,"output":[{"type":"message"}]})"},
      {responses, R"({"status":"incomplete","error":null,"output":[]})"},
      {responses, R"({"status":"incomplete"})"},
  };
  for (const auto& [op, body] : table) {
    INFO(body);
    CHECK_FALSE(judged(op, body).failure);
    CHECK_FALSE(judged(op, body, 201).failure);
  }
}

TEST_CASE("an answer without usable content is empty_response [F]") {
  const std::vector<std::pair<operation, std::string>> table{
      {chat, ""},
      {chat, "{}"},
      {chat, "[]"},
      {chat, "null"},
      {chat, "\"content\""},
      {chat, R"({"choices":[]})"},
      {chat, R"({"choices":null})"},
      {chat, R"({"choices":[{}]})"},
      {chat, message(R"("content":"")")},
      {chat, message(R"("content":null)")},
      {chat, message(R"("content":[])")},
      {chat, message(R"("content":false)")},
      {chat, message(R"("content":0)")},
      {chat, message(R"("tool_calls":[],"function_call":null,"refusal":"","audio":null,"reasoning_content":"")")},
      {chat, message(R"("function_call":{})")},
      {chat, message(R"("name":"content")")},
      {chat, choice(R"("content":"in the wrong place")")},
      {chat, choice(R"("text":"of another operation")")},
      {chat, choice(R"("delta":{"content":"of a stream"})")},
      {chat, choice(R"("finish_reason":"stop")")},
      {chat, choice(R"("finish_reason":"lengths")")},
      {chat, choice(R"("finish_reason":["length"])")},
      {chat, R"({"finish_reason":"length","message":{"content":"top"}})"},
      {chat, R"({"x":{"choices":[{"message":{"content":"deeper"}}]}})"},
      {chat, R"([{"choices":[{"message":{"content":"in a list"}}]}])"},
      {chat, R"({"choices":{"0":{"message":{"content":"no list"}}}})"},
      {chat, R"({"data":[1],"output":[1],"status":"incomplete"})"},
      {completions, choice(R"("text":"","finish_reason":"stop")")},
      {completions, message(R"("content":"of another operation")")},
      {embeddings, R"({"data":[]})"},
      {embeddings, R"({"output":[1]})"},
      {embeddings, choice(R"("finish_reason":"length")")},
      {responses, R"({"status":"completed","output":[]})"},
      {responses, R"({"status":"incomplete_","output":[]})"},
      {responses, R"({"status":"in_progress"})"},
      {responses, R"({"output":null})"},
      {responses, R"({"response":{"status":"incomplete","output":[1]}})"},
  };
  for (const auto& [op, body] : table) {
    INFO(body);
    CHECK(judged(op, body).failure == failure_class::empty_response);
  }
  CHECK(judged(chat, "", 204).failure == failure_class::empty_response);
}

TEST_CASE("an error in a 2xx is soft_failure, content or not [F]") {
  const std::vector<std::string> table{
      R"({"error":{"message":"overloaded","type":"server_error","code":null}})",
      R"({"error":{}})",
      R"({"error":"overloaded"})",
      R"({"err\u006fr":[1]})",
      R"({"error":{"message":"late"},"choices":[{"message":{"content":"hi"}}],"data":[1],"output":[1]})",
      R"({"choices":[{"text":"hi","message":{"content":"hi"}}],"data":[1],"output":[1],"error":{"message":"late"}})",
  };
  for (const auto op : {chat, completions, embeddings, responses})
    for (const auto& body : table) {
      INFO(body);
      CHECK(judged(op, body).failure == failure_class::soft_failure);
    }
}

TEST_CASE("an error elsewhere than at the top is none [F]") {
  CHECK_FALSE(
      judged(chat, R"({"x":{"error":{"message":"no"}},"choices":[{"error":{},"message":{"content":"hi"}}]})").failure);
}

TEST_CASE("a 2xx that is not JSON is soft_failure [F4]") {
  const std::vector<std::string> table{
      "<html>busy</html>",
      " ",
      R"({"choices":[{"message":{"content":"cut he)",
      R"({"choices":[{"message":{"content":"hi"}}]} trailing)",
      "{\"choices\":[{\"message\":{\"content\":\"\xFF\"}}]}",
      "data: {\"choices\":[]}\n\ndata: [DONE]\n\n",
      std::string(100'000, '['),
      std::string("\0{}", 3),
  };
  for (const auto& body : table)
    CHECK(judged(chat, body).failure == failure_class::soft_failure);
}

TEST_CASE("usage is read in both spellings and only where it is a count") {
  const auto tokens = [](operation op, std::string_view usage) {
    return judged(op, R"({"choices":[{"message":{"content":"hi"}}],"usage":)" + std::string(usage) + "}").tokens;
  };
  const auto chat_usage = tokens(chat, R"({"prompt_tokens":7,"completion_tokens":11,"total_tokens":18})");
  CHECK(chat_usage.input == 7u);
  CHECK(chat_usage.output == 11u);
  const auto responses_usage =
      tokens(responses, R"({"input_tokens":7,"output_tokens":11,"details":{"input_tokens":99}})");
  CHECK(responses_usage.input == 7u);
  CHECK(responses_usage.output == 11u);
  CHECK(tokens(chat, R"({"prompt_tokens":1000000000000})").input == 1'000'000'000'000u);
  CHECK_FALSE(tokens(chat, R"({"prompt_tokens":18446744073709551615})")
                  .input.has_value()); // no count: it would spoil every sum

  for (const auto* usage : {"null", "{}", "[7]", "7", R"({"prompt_tokens":-1,"completion_tokens":-1})",
                            R"({"prompt_tokens":"7","completion_tokens":null})",
                            R"({"prompt_tokens":[7],"completion_tokens":{"prompt_tokens":1}})"}) {
    INFO(usage);
    CHECK_FALSE(tokens(chat, usage).input);
    CHECK_FALSE(tokens(chat, usage).output);
  }
}

TEST_CASE("embeddings have no output tokens, not unknown ones [U2]") {
  const auto known = judged(embeddings, R"({"data":[{}],"usage":{"prompt_tokens":8,"total_tokens":8}})").tokens;
  CHECK(known.input == 8u);
  CHECK(known.output == 0u);
  CHECK_FALSE(judged(embeddings, R"({"data":[{}]})").tokens.output);
}

TEST_CASE("a cut answer tells no usage") {
  CHECK_FALSE(judged(chat, R"({"usage":{"prompt_tokens":7},"choices":[)").tokens.input);
}

TEST_CASE("nothing of an earlier verdict remains") {
  provider_result result;
  result.status = 200;
  result.failure = failure_class::unknown;
  result.tokens = {.input = 1, .output = 1};
  result.body = R"({"choices":[{"message":{"content":"hi"}}]})";
  inspect_answer(chat, result);
  CHECK_FALSE(result.failure);
  CHECK_FALSE(result.tokens.input);
}

TEST_CASE("the inspector takes the operation from the provider's path") {
  const auto failure = [](std::string path, std::string body, int status = 200) {
    provider_request request;
    request.path = std::move(path);
    provider_result result;
    result.status = status;
    result.body = std::move(body);
    openai::inspect_by_path(request, result);
    return result.failure;
  };
  CHECK_FALSE(failure("/embeddings", R"({"data":[1]})"));
  CHECK(failure("/responses", R"({"data":[1]})") == failure_class::empty_response);
  CHECK_FALSE(failure("/completions", choice(R"("text":"hi")")));
  CHECK_FALSE(failure("/chat/completions", message(R"("content":"hi")")));

  SECTION("another path promises no JSON") {
    CHECK_FALSE(failure("/rerank", "plain text"));
    CHECK_FALSE(failure("/rerank", "{}"));
    CHECK(failure("/rerank", "") == failure_class::empty_response);
    CHECK(failure("/rerank", R"({"error":{"message":"no"}})") == failure_class::soft_failure);
    CHECK(failure("/rerank", "plain text", 500) == failure_class::server_error);
  }
}
