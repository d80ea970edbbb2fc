#include "switchyard/openai/body.hpp"

#include "support/catch.hpp"

using namespace switchyard::openai;

TEST_CASE("an operation is known by its path below /v1") {
  CHECK(operation_of("/v1/chat/completions") == operation::chat_completions);
  CHECK(operation_of("/v1/completions") == operation::completions);
  CHECK(operation_of("/v1/embeddings") == operation::embeddings);
  CHECK(operation_of("/v1/responses") == operation::responses);
}

TEST_CASE("another path is no operation") {
  for (const auto* path : {"", "/", "/v1", "/v1/", "/v1/models", "/v2/completions", "/completions", "/v1/completions/",
                           "/v1/chat/completions?x=1", "/v1/Completions", "v1/completions"}) {
    INFO(path);
    CHECK_FALSE(operation_of(path));
  }
}

TEST_CASE("a provider's path is the operation's below /v1") {
  for (const auto* path : {"/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/responses"})
    CHECK("/v1" + std::string(provider_path(*operation_of(path))) == path);
}
