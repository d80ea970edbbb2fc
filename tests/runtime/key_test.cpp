#include "fixture.hpp"

#include <boost/asio/use_future.hpp>

using namespace switchyard;
using namespace switchyard::test;
namespace asio = boost::asio;

TEST_CASE("a hundred simultaneous submits of one key are one call [I4]") {
  const auto provider = std::make_shared<held_provider>();
  auto options = with_provider(provider);
  options.io_threads = 2;
  auto runtime = start(one_route(), std::move(options));
  auto keyed = chat_request();
  keyed.idempotency_key = "order-1";
  std::vector<std::future<submit_result>> results;
  for (int i = 0; i < 100; ++i)
    results.push_back(runtime.async_submit(keyed, asio::use_future));
  provider->answer(0, answer_of(200));
  int leaders = 0;
  for (auto& r : results) {
    const auto result = value_of(std::move(r));
    REQUIRE(result);
    CHECK(result->status == 200);
    CHECK(result->body == usable_body);
    CHECK(result->attempts == (result->replayed ? 0u : 1u));
    leaders += !result->replayed;
  }
  CHECK(leaders == 1);
  CHECK(provider->attempts() == 1);
}

TEST_CASE("the same key with another payload is refused, another tenant's is another key [I2, I3]") {
  const auto provider = std::make_shared<quick_provider>(answer_of(200));
  auto runtime = start(one_route(), with_provider(provider));
  const auto submit = [&](std::string tenant, std::string body) {
    auto r = chat_request();
    r.idempotency_key = "order-1";
    r.tenant = std::move(tenant);
    r.body = std::move(body);
    return value_of(runtime.async_submit(std::move(r), asio::use_future));
  };
  REQUIRE(submit("a", R"({"n":1})"));
  const auto reused = submit("a", R"({"n":2})");
  REQUIRE_FALSE(reused);
  CHECK(reused.error().code == errc::idempotency_key_reused);
  REQUIRE(submit("b", R"({"n":2})"));
  CHECK(provider->attempts() == 2);
}

TEST_CASE("an answer is replayed after a restart, byte for byte [I5]") {
  temp_dir dir;
  auto c = one_route();
  c.telemetry.path = dir.path().string();
  auto keyed = chat_request();
  keyed.idempotency_key = "order-1";
  const auto run = [&](int status) {
    const auto provider = std::make_shared<quick_provider>(answer_of(status));
    auto options = with_provider(provider);
    options.in_memory = false;
    auto runtime = start(c, std::move(options));
    auto result = value_of(runtime.async_submit(keyed, asio::use_future));
    return std::pair{std::move(result), provider->attempts()};
  };
  const auto [first, calls] = run(200);
  REQUIRE(first);
  CHECK(calls == 1);
  const auto [second, calls_after] = run(500);
  REQUIRE(second);
  CHECK(second->replayed);
  CHECK(second->body == first->body);
  CHECK(second->status == first->status);
  CHECK(second->attempts == 0);
  CHECK(calls_after == 0);
}

TEST_CASE("a data directory in use is a start error that says so") {
  temp_dir dir;
  auto c = one_route();
  c.telemetry.path = dir.path().string();
  auto options = with_provider(std::make_shared<quick_provider>(answer_of(200)));
  options.in_memory = false;
  const auto holder = start(c, options);
  const auto refused = runtime::start(c, options);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().what == start_error::kind::store);
  CHECK_FALSE(refused.error().message.empty());
}
