#include "fixture.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/use_future.hpp>

using namespace switchyard;
using namespace switchyard::test;
namespace asio = boost::asio;

namespace {

config cached_route() {
  auto c = one_route();
  c.cache.enabled = true;
  c.circuits["default"].consecutive_failures = 1000;
  return c;
}

submit_result submit(runtime& r, const request& what) {
  return value_of(r.async_submit(what, asio::use_future));
}

} // namespace

TEST_CASE("an answer is served from the cache, but not to another tenant, path or body [U3]") {
  const auto provider = std::make_shared<quick_provider>(answer_of(200));
  auto runtime = start(cached_route(), with_provider(provider));
  auto r = chat_request();
  const auto first = submit(runtime, r);
  REQUIRE(first);
  CHECK_FALSE(first->cached);
  CHECK(first->attempts == 1);
  const auto second = submit(runtime, r);
  REQUIRE(second);
  CHECK(second->cached);
  CHECK(second->degraded == degradation::none);
  CHECK(second->attempts == 0);
  CHECK(second->body == first->body);
  CHECK(second->age.has_value());
  CHECK(provider->attempts() == 1);

  auto tenant = r, path = r, body = r;
  tenant.tenant = "b";
  path.operation = "/v1/completions";
  body.body = R"({"n":2})";
  for (const auto& other : {tenant, path, body})
    CHECK_FALSE(submit(runtime, other).value().cached);
  CHECK(provider->attempts() == 4);
}

TEST_CASE("a hundred simultaneous misses are one call, and a leader that leaves affects nobody [U3]") {
  const auto provider = std::make_shared<held_provider>();
  auto options = with_provider(provider);
  options.io_threads = 2;
  auto runtime = start(cached_route(), std::move(options));
  asio::cancellation_signal leave;
  auto leader = runtime.async_submit(chat_request(), asio::bind_cancellation_slot(leave.slot(), asio::use_future));
  provider->at(0);
  std::vector<std::future<submit_result>> results;
  for (int i = 0; i < 100; ++i)
    results.push_back(runtime.async_submit(chat_request(), asio::use_future));
  leave.emit(asio::cancellation_type::terminal);
  CHECK(value_of(std::move(leader)).error().code == errc::cancelled);
  provider->answer(0, answer_of(200));
  for (auto& r : results) {
    const auto result = value_of(std::move(r));
    REQUIRE(result);
    CHECK(result->cached);
    CHECK(result->attempts == 0);
  }
  CHECK(provider->attempts() == 1);
}

TEST_CASE("what the caller says of the cache is done [U3]") {
  const auto provider = std::make_shared<quick_provider>(answer_of(200));
  auto runtime = start(cached_route(), with_provider(provider));
  auto no_store = chat_request(), no_cache = chat_request();
  no_store.cache = {.read = false, .store = false, .max_age = {}};
  no_cache.cache = {.read = false, .store = true, .max_age = {}};
  CHECK_FALSE(submit(runtime, no_store).value().cached);
  CHECK_FALSE(submit(runtime, chat_request()).value().cached); // nothing was kept of the first
  CHECK_FALSE(submit(runtime, no_cache).value().cached);       // though there is an answer
  CHECK(submit(runtime, chat_request()).value().cached);
  CHECK(provider->attempts() == 3);
}

TEST_CASE("an expired answer is served when every route has failed, and marked [U3]") {
  const auto provider = std::make_shared<held_provider>();
  auto c = cached_route();
  c.cache.ttl = 1ns; // expired at once
  c.cache.stale_if_error = 1h;
  auto runtime = start(c, with_provider(provider));
  auto first = runtime.async_submit(chat_request(), asio::use_future);
  provider->answer(0, answer_of(200));
  REQUIRE(value_of(std::move(first)));

  auto second = runtime.async_submit(chat_request(), asio::use_future);
  provider->answer(1, answer_of(500));
  const auto stale = value_of(std::move(second));
  REQUIRE(stale);
  CHECK(stale->degraded == degradation::stale);
  CHECK(stale->cached);
  CHECK(stale->body == usable_body);
  CHECK(stale->attempts == 1);

  auto third = runtime.async_submit(chat_request(), asio::use_future);
  provider->answer(2, answer_of(400)); // the request's own fault
  CHECK(value_of(std::move(third)).error().code == errc::upstream_error);
}

TEST_CASE("a failure is not kept, and neither is a fallback's answer [U3]") {
  const auto broken = std::make_shared<quick_provider>(answer_of(500));
  const auto works = std::make_shared<quick_provider>(answer_of(200));
  auto c = cached_route();
  c.providers["q"] = c.providers["p"];
  auto& other = c.routes["other"];
  other = c.routes["chat"];
  other.provider = "q";
  auto options = with_provider(broken);
  options.providers["q"] = works;
  SECTION("failure") {
    auto runtime = start(c, std::move(options));
    CHECK_FALSE(submit(runtime, chat_request()));
    CHECK_FALSE(submit(runtime, chat_request()));
    CHECK(broken->attempts() == 2);
  }
  SECTION("fallback") {
    c.routes["chat"].fallback = {"other"};
    auto runtime = start(c, std::move(options));
    CHECK(submit(runtime, chat_request()).value().fallbacks == 1);
    CHECK_FALSE(submit(runtime, chat_request()).value().cached);
    CHECK(works->attempts() == 2);
  }
}
