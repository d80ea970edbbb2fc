#include "fixture.hpp"

#include "switchyard/runtime/stream.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>

using namespace switchyard;
using namespace switchyard::test;
namespace asio = boost::asio;

namespace {

const std::string sorry = R"({"choices":[{"message":{"role":"assistant","content":"Back soon."}}]})";

// Route "chat" to provider p, and route "sorry" to a fixed answer, its fallback.
config with_static_answer() {
  auto c = one_route();
  auto& fixed = c.providers["fixed"];
  fixed.type = provider_settings::kind::static_answer;
  fixed.static_body = sorry;
  c.routes["sorry"] = c.routes["chat"];
  c.routes["sorry"].provider = "fixed";
  c.routes["sorry"].model = "none";
  c.routes["chat"].fallback = {"sorry"};
  return c;
}

submit_result submit(runtime& r, request q = chat_request()) {
  return value_of(r.async_submit(std::move(q), asio::use_future));
}

} // namespace

TEST_CASE("when the real routes fail a static provider gives its answer, marked, and without a circuit of its own") {
  auto runtime = start(with_static_answer(), with_provider(std::make_shared<quick_provider>(answer_of(500))));
  for (int i = 0; i < 2; ++i) { // then with the primary's circuit open
    const auto result = submit(runtime);
    REQUIRE(result);
    CHECK(result->status == 200);
    CHECK(result->body == sorry);
    CHECK(result->degraded == degradation::static_answer);
    CHECK(result->served_by.provider == "fixed");
    CHECK(result->fallbacks == 1);
    CHECK(result->attempts == (i == 0 ? 1u : 0u)); // no call went to it [R5]
  }
  CHECK(runtime.metrics_text().find("circuit=\"fixed\"") == std::string::npos);
}

TEST_CASE("who asks for a stream gets the static answer as one, whole") {
  auto runtime = start(with_static_answer(), with_provider(nullptr));
  asio::io_context io; // where nothing comes to be done
  const auto sink = make_sink(io.get_executor(), {}, [](std::string_view) -> asio::awaitable<void> { co_return; });
  auto q = chat_request();
  q.route = "sorry";
  q.body = R"({"messages":[],"stream":true})";
  const auto result = value_of(runtime.async_stream(std::move(q), sink, asio::use_future));
  REQUIRE(result);
  CHECK_FALSE(result->streamed); // it came at once
  CHECK(result->headers.find("Content-Type") == "text/event-stream");
  CHECK(result->body.find("Back soon.") != std::string::npos);
  CHECK(result->body.ends_with("data: [DONE]\n\n"));
}

TEST_CASE("no key keeps a static answer: its retry asks the providers again [I5]") {
  const auto provider = std::make_shared<held_provider>();
  auto c = with_static_answer();
  c.circuits["default"].consecutive_failures = 10;
  auto runtime = start(std::move(c), with_provider(provider));
  auto q = chat_request();
  q.idempotency_key = "k";
  auto first = runtime.async_submit(q, asio::use_future);
  provider->answer(0, answer_of(500));
  CHECK(value_of(std::move(first)).value().degraded == degradation::static_answer);
  auto second = runtime.async_submit(q, asio::use_future);
  provider->answer(1, answer_of(200));
  const auto answered = value_of(std::move(second));
  REQUIRE(answered);
  CHECK(answered->body == usable_body);
  CHECK_FALSE(answered->replayed);
}

TEST_CASE("sorting by health never puts a static answer before a model's [B6]") {
  auto c = with_static_answer();
  c.circuits["default"].consecutive_failures = 1000;
  c.health.reorder = health_settings::reorder_mode::fallbacks;
  c.providers["q"] = c.providers["p"];
  c.routes["second"] = c.routes["chat"];
  c.routes["second"].provider = "q";
  c.routes["second"].fallback.clear();
  c.routes["chat"].fallback = {"sorry", "second"};
  auto o = with_provider(std::make_shared<quick_provider>(answer_of(500)));
  o.providers["q"] = std::make_shared<quick_provider>(answer_of(200));
  auto runtime = start(std::move(c), std::move(o));
  const auto result = submit(runtime);
  REQUIRE(result);
  CHECK(result->served_by.provider == "q");
}
