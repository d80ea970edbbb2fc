#include "fixture.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/errc.hpp>

#include <optional>

using namespace switchyard;
using namespace switchyard::test;
namespace asio = boost::asio;

namespace {

// A submit that can be cancelled, and what it came to.
struct cancellable {
  asio::io_context io;
  asio::cancellation_signal signal;
  std::optional<submit_result> result;

  void submit(runtime& r, request what) {
    r.async_submit(std::move(what),
                   asio::bind_cancellation_slot(signal.slot(), asio::bind_executor(io, [this](submit_result got) {
                                                  result.emplace(std::move(got));
                                                })));
  }
};

} // namespace

TEST_CASE("cancelling the operation cancels the request and its attempt") {
  const auto type = GENERATE(asio::cancellation_type::terminal, asio::cancellation_type::partial);
  const auto provider = std::make_shared<held_provider>();
  auto runtime = start(one_route(), with_provider(provider));
  cancellable c;
  c.submit(runtime, chat_request());
  const auto attempt = provider->at(0);
  c.signal.emit(type);
  c.io.run();
  REQUIRE(c.result);
  REQUIRE_FALSE(*c.result);
  CHECK(c.result->error().code == errc::cancelled);
  CHECK(c.result->error().what == failure_class::cancelled);
  CHECK(boost::system::error_code{c.result->error()} == boost::system::errc::operation_canceled);
  CHECK(attempt->cancelled);
  CHECK(runtime.circuit("p").try_acquire()); // no failure of the provider
}

TEST_CASE("a total cancellation, which a request under way cannot promise, does nothing") {
  const auto provider = std::make_shared<held_provider>();
  auto runtime = start(one_route(), with_provider(provider));
  cancellable c;
  c.submit(runtime, chat_request());
  provider->at(0);
  c.signal.emit(asio::cancellation_type::total);
  provider->answer(0, answer_of(200));
  c.io.run();
  REQUIRE(c.result);
  CHECK(*c.result);
}

TEST_CASE("a signal after the end finds nobody") {
  auto runtime = start(one_route(), with_provider(std::make_shared<quick_provider>(answer_of(200))));
  cancellable c;
  c.submit(runtime, chat_request());
  c.io.run();
  c.signal.emit(asio::cancellation_type::terminal);
  REQUIRE(c.result);
  CHECK(*c.result);
}

TEST_CASE("a keyed request whose caller leaves runs on, so that the retry finds its answer [I7]") {
  const auto provider = std::make_shared<held_provider>();
  auto runtime = start(one_route(), with_provider(provider));
  auto keyed = chat_request();
  keyed.idempotency_key = "order-1";
  cancellable c;
  c.submit(runtime, keyed);
  const auto attempt = provider->at(0);
  c.signal.emit(asio::cancellation_type::terminal);
  c.io.run(); // the caller is told at once
  REQUIRE(c.result);
  CHECK(c.result->error().code == errc::cancelled);
  CHECK_FALSE(attempt->cancelled);

  auto retried = runtime.async_submit(keyed, asio::use_future);
  provider->answer(0, answer_of(200));
  const auto result = value_of(std::move(retried));
  REQUIRE(result);
  CHECK(result->replayed);
  CHECK(provider->attempts() == 1);
}
