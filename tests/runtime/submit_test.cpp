#include "fixture.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <thread>

using namespace switchyard;
using namespace switchyard::test;
namespace asio = boost::asio;

namespace {

config primary_and_fallback() {
  auto c = one_route();
  c.providers["second"].base_url = "http://127.0.0.1:9";
  c.routes["chat"].fallback = {"spare"};
  c.routes["spare"].provider = "second";
  c.routes["spare"].model = "s";
  c.routes["spare"].retry.max_attempts = 1;
  return c;
}

} // namespace

TEST_CASE("a submit completes with the answer and who gave it") {
  auto runtime = start(one_route(), with_provider(std::make_shared<quick_provider>(answer_of(200))));
  auto r = chat_request();
  r.request_id = "my-id";
  const auto result = value_of(runtime.async_submit(r, asio::use_future));
  REQUIRE(result);
  CHECK(result->status == 200);
  CHECK(result->body == usable_body);
  CHECK(result->headers.find("content-type") == "application/json");
  CHECK(result->served_by.route == "chat");
  CHECK(result->served_by.provider == "p");
  CHECK(result->served_by.model == "m");
  CHECK(result->attempts == 1);
  CHECK(result->fallbacks == 0);
  CHECK_FALSE(result->replayed);
  CHECK(result->request_id == "my-id");
}

TEST_CASE("a submit takes callbacks, coroutines and deferred operations") {
  auto runtime = start(one_route(), with_provider(std::make_shared<quick_provider>(answer_of(200))));

  std::promise<submit_result> called;
  runtime.async_submit(chat_request(), [&](submit_result r) { called.set_value(std::move(r)); });
  CHECK(value_of(called.get_future()));

  asio::io_context io;
  const auto awaited = [&]() -> asio::awaitable<int> {
    const auto r = co_await runtime.async_submit(chat_request(), asio::use_awaitable);
    co_return r ? r->status : 0;
  };
  auto status = asio::co_spawn(io, awaited(), asio::use_future);
  io.run();
  CHECK(value_of(std::move(status)) == 200);

  auto later = runtime.async_submit(chat_request(), asio::deferred);
  CHECK(value_of(std::move(later)(asio::use_future)));
}

TEST_CASE("the handler runs on its executor, which has work until then") {
  const auto provider = std::make_shared<held_provider>();
  auto runtime = start(one_route(), with_provider(provider));
  asio::io_context io;
  std::thread::id ran_on;
  runtime.async_submit(chat_request(),
                       asio::bind_executor(io, [&](submit_result) { ran_on = std::this_thread::get_id(); }));
  std::thread answering{[&] { provider->answer(0, answer_of(200)); }};
  io.run(); // returns when there is no more work
  answering.join();
  CHECK(ran_on == std::this_thread::get_id());
}

TEST_CASE("the handler never runs within the initiating function") {
  auto runtime = start(one_route(), with_provider(nullptr));
  auto wrong = chat_request();
  wrong.route = "nowhere"; // is known to fail at once
  asio::io_context io;
  bool called = false, called_within = true;
  asio::post(io, [&] {
    runtime.async_submit(wrong, asio::bind_executor(io, [&](submit_result) { called = true; }));
    called_within = called;
  });
  io.run();
  CHECK(called);
  CHECK_FALSE(called_within);

  std::promise<std::thread::id> where;
  runtime.async_submit(wrong, [&](submit_result) { where.set_value(std::this_thread::get_id()); });
  CHECK(value_of(where.get_future()) != std::this_thread::get_id());
}

TEST_CASE("a handler may submit the next request") {
  auto runtime = start(one_route(), with_provider(std::make_shared<quick_provider>(answer_of(200))));
  std::promise<int> done;
  std::function<void(int)> next = [&](int left) {
    runtime.async_submit(chat_request(), [&, left](submit_result r) {
      if (!r || left == 0)
        done.set_value(left);
      else
        next(left - 1);
    });
  };
  next(50);
  CHECK(value_of(done.get_future()) == 0);
}

TEST_CASE("an error of the provider that ends the request comes with its answer") {
  auto refused = answer_of(422, R"({"error":"no"})");
  refused.headers.add("X-Reason", "because");
  auto runtime = start(one_route(), with_provider(std::make_shared<quick_provider>(refused)));
  const auto result = value_of(runtime.async_submit(chat_request(), asio::use_future));
  REQUIRE_FALSE(result);
  const auto& e = result.error();
  CHECK(e.code == errc::upstream_error);
  CHECK(e.what == failure_class::client_error);
  REQUIRE(e.provider_answer);
  CHECK(e.provider_answer->status == 422);
  CHECK(e.provider_answer->body == R"({"error":"no"})");
  CHECK(e.provider_answer->headers.find("x-reason") == "because");
  CHECK(e.attempts == 1);
  CHECK_FALSE(e.request_id.empty());
}

TEST_CASE("when all routes fail the error has every step in order [B4]") {
  auto options = with_provider(std::make_shared<quick_provider>(answer_of(500)));
  options.providers["second"] = std::make_shared<quick_provider>(answer_of(503));
  auto runtime = start(primary_and_fallback(), std::move(options));
  const auto result = value_of(runtime.async_submit(chat_request(), asio::use_future));
  REQUIRE_FALSE(result);
  const auto& e = result.error();
  CHECK(e.code == errc::fallback_exhausted);
  CHECK(e.what == failure_class::server_error);
  CHECK(e.attempts == 2);
  REQUIRE(e.trail.size() == 2);
  CHECK(e.trail[0].provider == "p");
  CHECK(e.trail[0].status == 500);
  CHECK(e.trail[1].provider == "second");
  CHECK(e.trail[1].model == "s");
  CHECK(e.trail[1].status == 503);

  // Both circuits are open now: refused without a call, with the time to wait [B5].
  const auto again = value_of(runtime.async_submit(chat_request(), asio::use_future));
  REQUIRE_FALSE(again);
  CHECK(again.error().attempts == 0);
  CHECK(again.error().what == failure_class::circuit_open);
  REQUIRE(again.error().retry_after);
  CHECK(*again.error().retry_after <= 30s);
}

TEST_CASE("a runtime that cannot start says why and leaves nothing behind") {
  auto c = one_route();
  c.routes["chat"].provider = "missing";
  const auto wrong = runtime::start(c, with_provider(nullptr));
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().what == start_error::kind::configuration);
  CHECK(wrong.error().message.find("missing") != std::string::npos);
  CHECK_THROWS_AS(runtime::start(c, with_provider(nullptr)).value(), std::runtime_error);
}

TEST_CASE("a runtime can be moved and replaced") {
  auto first = start(one_route(), with_provider(std::make_shared<quick_provider>(answer_of(200))));
  auto moved = std::move(first);
  CHECK(value_of(moved.async_submit(chat_request(), asio::use_future)));
  moved = start(one_route(), with_provider(std::make_shared<quick_provider>(answer_of(500))));
  CHECK_FALSE(value_of(moved.async_submit(chat_request(), asio::use_future)));
  CHECK(moved.active_routes() == std::vector<std::string>{"chat"});
  CHECK(moved.metrics_text().find("switchyard_attempts_total") != std::string::npos);
}
