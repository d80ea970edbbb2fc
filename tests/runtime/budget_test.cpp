#include "fixture.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/use_future.hpp>

using namespace switchyard;
using namespace switchyard::test;
namespace asio = boost::asio;

namespace {

config budgeted_route(std::uint64_t requests) {
  auto c = one_route();
  c.circuits["default"].consecutive_failures = 1000;
  budget_settings b;
  b.requests = requests;
  c.budgets.push_back(b);
  return c;
}

} // namespace

TEST_CASE("of a hundred simultaneous requests a budget for ten admits exactly ten, and only those are called [U1]") {
  const auto provider = std::make_shared<held_provider>();
  auto options = with_provider(provider);
  options.io_threads = 2;
  auto runtime = start(budgeted_route(10), std::move(options));
  std::vector<std::future<submit_result>> results;
  for (int i = 0; i < 100; ++i)
    results.push_back(runtime.async_submit(chat_request(), asio::use_future));
  for (std::size_t i = 0; i < 10; ++i)
    provider->answer(i, answer_of(200));
  int served = 0;
  for (auto& r : results) {
    const auto result = value_of(std::move(r));
    served += result.has_value();
    if (!result) {
      CHECK(result.error().code == errc::budget_exceeded);
      CHECK(result.error().what == failure_class::budget);
      CHECK(result.error().retry_after > 23h);
      CHECK(result.error().message.find("requests") != std::string::npos);
    }
  }
  CHECK(served == 10);
  CHECK(provider->attempts() == 10);
}

TEST_CASE("a failure gives its part of the budget back, and a caller that leaves too [U1]") {
  const auto provider = std::make_shared<held_provider>();
  auto runtime = start(budgeted_route(1), with_provider(provider));
  auto failed = runtime.async_submit(chat_request(), asio::use_future);
  provider->answer(0, answer_of(500));
  CHECK(value_of(std::move(failed)).error().code == errc::upstream_error);

  asio::cancellation_signal leave;
  auto left = runtime.async_submit(chat_request(), asio::bind_cancellation_slot(leave.slot(), asio::use_future));
  provider->at(1);
  leave.emit(asio::cancellation_type::terminal);
  CHECK(value_of(std::move(left)).error().code == errc::cancelled);

  // The refund of one that left comes after its answer: asked until it has come.
  std::optional<submit_result> served;
  for (std::size_t next = 2; !served; ++next) {
    auto again = runtime.async_submit(chat_request(), asio::use_future);
    while (again.wait_for(std::chrono::milliseconds{1}) != std::future_status::ready)
      if (provider->attempts() == 3)
        provider->answer(2, answer_of(200));
    auto result = value_of(std::move(again));
    if (result || result.error().code != errc::budget_exceeded)
      served = std::move(result);
    REQUIRE(next < 10'000);
  }
  CHECK(*served);
}

TEST_CASE("a restart does not reset a budget, and replays take nothing of it [U1, I8]") {
  temp_dir dir;
  auto c = budgeted_route(2);
  c.telemetry.path = dir.path().string();
  const auto provider = std::make_shared<quick_provider>(answer_of(200));
  const auto submit_once = [&](bool keyed) {
    auto options = with_provider(provider);
    options.in_memory = false;
    auto runtime = start(c, std::move(options));
    auto r = chat_request();
    if (keyed)
      r.idempotency_key = "order-1";
    return value_of(runtime.async_submit(r, asio::use_future));
  };
  CHECK(submit_once(true));
  CHECK(submit_once(true).value().replayed);
  CHECK(submit_once(false));
  CHECK(submit_once(false).error().code == errc::budget_exceeded);
  CHECK(provider->attempts() == 2);
}

TEST_CASE("a tenant's budget is its own [U1]") {
  auto runtime = start(budgeted_route(1), with_provider(std::make_shared<quick_provider>(answer_of(200))));
  const auto submit = [&](std::string tenant) {
    auto r = chat_request();
    r.tenant = std::move(tenant);
    return value_of(runtime.async_submit(std::move(r), asio::use_future));
  };
  CHECK(submit("a"));
  CHECK(submit("b"));
  CHECK(submit("a").error().code == errc::budget_exceeded);
}
