#include "fixture.hpp"

#include <boost/asio/use_future.hpp>

using namespace switchyard;
using namespace switchyard::test;
namespace asio = boost::asio;

namespace {

using mode = health_settings::reorder_mode;

// Routes "chat", "second" and "third" to providers p, q and r; p and q fail, r works.
config three_routes(mode reorder) {
  auto c = one_route();
  c.circuits["default"].consecutive_failures = 1000;
  c.health.reorder = reorder;
  c.routes["chat"].fallback = {"second", "third"};
  for (const auto& [route, provider] : {std::pair{"second", "q"}, std::pair{"third", "r"}}) {
    c.providers[provider] = c.providers["p"];
    c.routes[route] = c.routes["chat"];
    c.routes[route].provider = provider;
    c.routes[route].fallback.clear();
  }
  return c;
}

core_options providers() {
  auto o = with_provider(std::make_shared<quick_provider>(answer_of(500)));
  o.providers["q"] = std::make_shared<quick_provider>(answer_of(500));
  o.providers["r"] = std::make_shared<quick_provider>(answer_of(200));
  return o;
}

submit_result submit(runtime& r) {
  return value_of(r.async_submit(chat_request(), asio::use_future));
}

// Until the health actor has heard of what failed.
submit_result submit_until(runtime& r, std::uint32_t attempts) {
  for (const auto end = std::chrono::steady_clock::now() + patience;;) {
    auto result = submit(r);
    if ((result && result->attempts == attempts) || std::chrono::steady_clock::now() > end)
      return result;
  }
}

} // namespace

TEST_CASE("by default the chain is as it was written, whatever the health [B6]") {
  auto runtime = start(three_routes(mode::off), providers());
  for (int i = 0; i < 20; ++i) {
    const auto result = submit(runtime);
    REQUIRE(result);
    CHECK(result->attempts == 3);
    CHECK(result->fallbacks == 2);
  }
}

TEST_CASE("with `fallbacks` the healthier fallback goes first, and the primary stays first [B6]") {
  auto runtime = start(three_routes(mode::fallbacks), providers());
  const auto first = submit(runtime);
  REQUIRE(first);
  CHECK(first->attempts == 3); // nothing is known yet: as written
  const auto sorted = submit_until(runtime, 2);
  REQUIRE(sorted);
  CHECK(sorted->attempts == 2);
  CHECK(sorted->fallbacks == 1);
  CHECK(sorted->served_by.route == "third");
}

TEST_CASE("with `all` the healthiest route goes first, within the deadline of the requested one [B6, B8]") {
  auto c = three_routes(mode::all);
  c.routes["third"].deadline = 1ns; // of requests for the third route itself
  auto runtime = start(c, providers());
  const auto sorted = submit_until(runtime, 1);
  REQUIRE(sorted);
  CHECK(sorted->attempts == 1);
  CHECK(sorted->fallbacks == 0);
  CHECK(sorted->served_by.route == "third");
}

TEST_CASE("a request that may not fall over asks its own route, whatever the health [B6]") {
  auto runtime = start(three_routes(mode::all), providers());
  submit_until(runtime, 1);
  auto r = chat_request();
  r.fallback = false;
  const auto result = value_of(runtime.async_submit(r, asio::use_future));
  REQUIRE_FALSE(result);
  CHECK(result.error().trail.at(0).route == "chat");
}
