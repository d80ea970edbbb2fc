// Answers that are errors: statuses, and what the error's own words say.

#include "switchyard/openai/body.hpp"

#include "support/catch.hpp"

#include <string>
#include <vector>

using namespace switchyard;

namespace {

std::optional<failure_class> failure_of(int status, std::string body) {
  provider_result result;
  result.status = status;
  result.body = std::move(body);
  inspect_answer(openai::operation::chat_completions, result);
  return result.failure;
}

constexpr auto usable = R"({"choices":[{"message":{"content":"hi"}}]})";

} // namespace

TEST_CASE("a status that is no success decides whatever the body says [F]") {
  const std::vector<std::pair<int, failure_class>> table{
      {500, failure_class::server_error},  {503, failure_class::server_error}, {529, failure_class::server_error},
      {429, failure_class::rate_limit},    {408, failure_class::timeout},      {401, failure_class::auth},
      {403, failure_class::auth},          {404, failure_class::client_error}, {400, failure_class::client_error},
      {302, failure_class::configuration},
  };
  for (const auto& [status, expected] : table) {
    INFO(status);
    for (const auto* body : {"", "busy", "{}", usable, R"({"error":{"message":"no"}})"})
      CHECK(failure_of(status, body) == expected);
  }
}

TEST_CASE("an input that is too long is recognised wherever the provider says so [F]") {
  const std::vector<std::string> table{
      R"({"error":{"message":"too much","type":"invalid_request_error","code":"context_length_exceeded"}})",
      R"({"error":{"code":"context\u005flength_exceeded"}})",
      R"({"error":{"type":"context_length_exceeded","code":400}})",
      R"({"error":{"message":"This model's maximum context length is 4096 tokens","code":null}})",
      R"({"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 > 8"}})",
      R"({"error":{"type":"x","message":"prompt is too long"},"type":"error","message":"outside"})",
      R"({"object":"error","message":"Prompt is too long","type":"invalid_request_error","code":null})",
      R"({"object":"error","message":"x","code":"context_length_exceeded"})",
      R"({"error":"prompt is too long"})",
      R"({"detail":"prompt is too long"})",
  };
  for (const auto& body : table)
    for (const int status : {400, 413, 422}) {
      INFO(body);
      CHECK(failure_of(status, body) == failure_class::context_length);
    }
}

TEST_CASE("a refusal by policy is recognised [F]") {
  CHECK(failure_of(400, R"({"error":{"code":"content_filter","message":"filtered","innererror":{"code":"x"}}})") ==
        failure_class::content_policy);
  CHECK(failure_of(400, R"({"error":{"code":"content_policy_violation"}})") == failure_class::content_policy);
}

TEST_CASE("words in other places of an error are not read [F]") {
  const std::vector<std::string> table{
      R"({"error":{"message":"bad","param":"context_length_exceeded"}})",
      R"({"error":{"message":"bad","inner":{"message":"prompt is too long"}}})",
      R"({"error":{"message":["prompt is too long"]}})",
      R"({"error":{"message":"bad"},"message":"prompt is too long","code":"context_length_exceeded"})",
      R"({"code":"context_length_exceeded","error":{"message":"bad"}})",
      R"({"request":{"code":"context_length_exceeded"},"error":{"message":"bad"}})",
      R"([{"error":{"code":"context_length_exceeded"}}])",
      R"({"error":{"code":"context_length_exceeded")", // cut: not JSON
  };
  for (const auto& body : table) {
    INFO(body);
    CHECK(failure_of(400, body) == failure_class::client_error);
  }
}

TEST_CASE("long error texts are read at their beginning only") {
  const std::string padding(100'000, 'x');
  CHECK(failure_of(400, R"({"error":{"message":"prompt is too long )" + padding + "\"}}") ==
        failure_class::context_length);
  CHECK(failure_of(400, R"({"error":{"message":")" + padding + " prompt is too long\"}}") ==
        failure_class::client_error);
  CHECK(failure_of(400, R"({"error":{"code":")" + padding + "\"}}") == failure_class::client_error);
  CHECK(failure_of(400, "{\"" + padding + R"(":1,"error":{"code":"context_length_exceeded"}})") ==
        failure_class::context_length);
}

TEST_CASE("an attempt without an answer gets its transport error's class [F]") {
  provider_result result;
  result.error = transport_error::connect_timeout;
  inspect_answer(openai::operation::chat_completions, result);
  CHECK(result.failure == failure_class::timeout);
}
