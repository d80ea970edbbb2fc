// Each test is named for what once went wrong.

#include "fixture.hpp"

#include "switchyard/http/server.hpp"

#include <boost/asio/use_future.hpp>

#include <algorithm>

using namespace switchyard;
using namespace switchyard::test;
namespace asio = boost::asio;

TEST_CASE("stopping with many providers and circuits touched I/O threads that were gone") {
  temp_dir directory;
  config c;
  c.telemetry.path = directory.path().string();
  c.circuits["by_model"].scope = circuit_scope::model;
  for (int i = 0; i < 200; ++i) {
    const auto name = "p" + std::to_string(i);
    c.providers[name].base_url = "http://127.0.0.1:9/v1";
    c.providers[name].circuit = "by_model";
    auto& route = c.routes["r" + std::to_string(i)];
    route.provider = name;
    route.model = "m";
  }
  auto runtime = runtime::start(std::move(c));
  REQUIRE(runtime);
  runtime->stop(duration::zero());
}

TEST_CASE("a short deadline blamed a provider that has no circuit [F2][H2]") {
  const auto provider = std::make_shared<held_provider>();
  auto c = one_route();
  for (auto& [name, settings] : c.providers)
    settings.circuit.reset();
  auto runtime = start(std::move(c), with_provider(provider));
  auto r = chat_request();
  r.timeout = std::chrono::milliseconds{30};
  const auto result = value_of(runtime.async_submit(std::move(r), asio::use_future));
  REQUIRE_FALSE(result);
  CHECK(result.error().code == errc::deadline_exceeded);
  REQUIRE(result.error().trail.size() == 1);
  CHECK(result.error().trail.front().what == failure_class::deadline);
}

TEST_CASE("a provider that throws left its request without an end") {
  struct throwing : provider {
    std::shared_ptr<attempt_handle> start(provider_request, std::shared_ptr<attempt_listener>) override {
      throw std::runtime_error("out of order");
    }
  };
  auto runtime = start(one_route(), with_provider(std::make_shared<throwing>()));
  const auto result = value_of(runtime.async_submit(chat_request(), asio::use_future));
  REQUIRE_FALSE(result);
  CHECK(result.error().code == errc::upstream_connection);
}

TEST_CASE("a thread that had asked a breaker and lived on kept the runtime from ending [C14]") {
  auto runtime = start(one_route(), with_provider(std::make_shared<held_provider>()));
  auto guard = runtime.circuit("asked");
  for (int i = 0; i < 5; ++i)
    if (auto permit = guard.try_acquire())
      permit->failure();
  CHECK_FALSE(guard.try_acquire()); // may have had to ask
  runtime.stop(duration::zero());
}

TEST_CASE("percent-encoding is undone, or refused where it is malformed") {
  CHECK(http::percent_decode("a%2Fb%25c") == "a/b%c");
  CHECK(http::percent_decode("") == "");
  CHECK_FALSE(http::percent_decode("%2"));
  CHECK_FALSE(http::percent_decode("%zz"));
}
