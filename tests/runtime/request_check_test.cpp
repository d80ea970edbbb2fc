#include "fixture.hpp"

#include <boost/asio/use_future.hpp>

using namespace switchyard;
using namespace switchyard::test;
using boost::asio::use_future;

TEST_CASE("what is wrong with a request is told by its completion [I1]") {
  const auto provider = std::make_shared<quick_provider>(answer_of(200));
  auto runtime = start(one_route(), with_provider(provider));
  const auto error_of = [&](request r) { return value_of(runtime.async_submit(std::move(r), use_future)).error(); };
  const auto invalid = [&](const char* says, auto change) {
    auto r = chat_request();
    change(r);
    const auto e = error_of(std::move(r));
    CAPTURE(says, e.message);
    CHECK(e.code == errc::invalid_request);
    CHECK(e.what == failure_class::client_error);
    CHECK(e.message.find(says) != std::string::npos);
  };
  invalid("idempotency_key", [](request& r) { r.idempotency_key = ""; });
  invalid("idempotency_key", [](request& r) { r.idempotency_key = "with space"; });
  invalid("idempotency_key", [](request& r) { r.idempotency_key = std::string(256, 'k'); });
  invalid("idempotency_ttl", [](request& r) { r.idempotency_ttl = duration{0}; });
  invalid("timeout", [](request& r) { r.timeout = -1s; });
  invalid("request_id", [](request& r) { r.request_id = "a b"; });
  invalid("request_id", [](request& r) { r.request_id = std::string(129, 'x'); });
  invalid("tenant", [](request& r) { r.tenant = std::string("a\0b", 3); });
  invalid("operation", [](request& r) { r.operation = "/v1/x y"; });
  invalid("operation", [](request& r) { r.operation = "/v1/x\r\nHost: other"; });
  invalid("operation", [](request& r) { r.operation = ""; });
  invalid("", [](request& r) { r.body = ""; });
  invalid("", [](request& r) { r.body = "[]"; });
  invalid("", [](request& r) { r.body = R"({"messages":)"; });
  invalid("", [](request& r) { r.body = R"({"model":5})"; });

  auto r = chat_request();
  r.route = "nowhere";
  const auto unknown = error_of(std::move(r));
  CHECK(unknown.code == errc::unknown_route);
  CHECK(unknown.message.find("nowhere") != std::string::npos);

  r = chat_request();
  r.body = R"({"stream":true})";
  const auto stream = error_of(std::move(r));
  CHECK(stream.code == errc::invalid_request);
  CHECK(stream.message.find("async_stream") != std::string::npos);
  CHECK(provider->attempts() == 0);
}

TEST_CASE("the provider gets its own model, whether the body named one or not") {
  const auto provider = std::make_shared<quick_provider>(answer_of(200));
  auto runtime = start(one_route(), with_provider(provider));
  const auto sent_for = [&](const char* body) {
    auto r = chat_request();
    r.body = body;
    REQUIRE(value_of(runtime.async_submit(std::move(r), use_future)));
    return *provider->at(provider->attempts() - 1)->request.body;
  };
  CHECK(sent_for(R"({"model":"mine","n":1})") == R"({"model":"m","n":1})");
  CHECK(sent_for(R"({"n":1})") == R"({"model":"m","n":1})");
  CHECK(sent_for(" { } ") == R"( {"model":"m" } )");
}

TEST_CASE("an operation below /v1 goes to the path below the provider's base URL") {
  const auto provider = std::make_shared<quick_provider>(answer_of(200));
  auto runtime = start(one_route(), with_provider(provider));
  const auto path_for = [&](const char* operation) {
    auto r = chat_request();
    r.operation = operation;
    REQUIRE(value_of(runtime.async_submit(std::move(r), use_future)));
    return provider->at(provider->attempts() - 1)->request.path;
  };
  CHECK(path_for("/v1/embeddings") == "/embeddings");
  CHECK(path_for("/v1/chat/completions") == "/chat/completions");
  CHECK(path_for("/rerank") == "/rerank");
}
