#include "fixture.hpp"
#include "held_operation.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

using namespace switchyard;
using namespace switchyard::test;
namespace asio = boost::asio;
using boost::system::error_code;

namespace {

circuit_settings opens_at_once() {
  circuit_settings s;
  s.consecutive_failures = 1;
  s.cooldown = s.max_cooldown = 1h;
  return s;
}

struct guarded {
  runtime rt = guards_only(opens_at_once());
  circuit_guard guard = rt.circuit("payments");
  asio::io_context io;
  held_operation operation;
  std::optional<std::pair<error_code, int>> result;

  auto start_operation() {
    return [this](auto token) { return operation.async_run(std::move(token)); };
  }
  auto keep_result() {
    return asio::bind_executor(io, [this](error_code e, int n) { result.emplace(e, n); });
  }
  // Runs one guarded call to its end.
  void call(error_code error, int value) {
    guard.async_guard(start_operation(), keep_result());
    operation.end(operation.started() - 1, error, value);
    io.restart();
    io.run();
  }
};

} // namespace

TEST_CASE("a guarded call completes with what its operation completes with") {
  guarded g;
  g.call({}, 7);
  REQUIRE(g.result);
  CHECK_FALSE(g.result->first);
  CHECK(g.result->second == 7);
  CHECK(g.rt.metrics_text().find("switchyard_call_duration_seconds_count{outcome=\"success\"} 1") != std::string::npos);
}

TEST_CASE("an error is a failure, and the refused call does not start its operation [C4]") {
  guarded g;
  g.call(asio::error::connection_refused, 1);
  CHECK(g.result->first == asio::error::connection_refused);
  g.result.reset();

  g.guard.async_guard(g.start_operation(), g.keep_result());
  CHECK_FALSE(g.result); // never within the initiating function
  g.io.restart();
  g.io.run();
  REQUIRE(g.result);
  CHECK(g.result->first == errc::circuit_open);
  CHECK(g.result->second == 0);
  CHECK(g.operation.started() == 1);
}

TEST_CASE("aborted operations and errors that do not trip are no failures [C3]") {
  guarded g;
  g.call(asio::error::operation_aborted, 0);
  g.call(errc::cancelled, 0);
  g.call(errc::circuit_open, 0);
  g.call(errc::deadline_exceeded, 0);
  CHECK(g.guard.try_acquire());
  g.call(errc::upstream_timeout, 0);
  CHECK_FALSE(g.guard.try_acquire());
}

TEST_CASE("cancellation reaches the guarded operation") {
  guarded g;
  asio::cancellation_signal signal;
  g.guard.async_guard(g.start_operation(), asio::bind_cancellation_slot(signal.slot(), g.keep_result()));
  REQUIRE(g.operation.started() == 1);
  signal.emit(asio::cancellation_type::terminal);
  g.io.run();
  REQUIRE(g.result);
  CHECK(g.result->first == asio::error::operation_aborted);
  CHECK(g.guard.try_acquire());
}

TEST_CASE("an operation may report to its permit itself") {
  guarded g;
  const auto with_permit = [&](permit& p, auto token) {
    p.neutral(); // whatever its error says
    return g.operation.async_run(std::move(token));
  };
  g.guard.async_guard(with_permit, g.keep_result());
  g.operation.end(0, asio::error::eof, 3);
  g.io.run();
  REQUIRE(g.result);
  CHECK(g.result->first == asio::error::eof);
  CHECK(g.guard.try_acquire());
  CHECK(g.guard.refused_reports() == 0);
}

TEST_CASE("an operation that throws when it is started gives its permit back [C16]") {
  guarded g;
  struct broken {};
  const auto throwing = [&](auto token) {
    if (g.operation.started() == 0)
      throw broken{};
    return g.operation.async_run(std::move(token));
  };
  CHECK_THROWS_AS(g.guard.async_guard(throwing, g.keep_result()), broken);
  CHECK(g.guard.try_acquire());
}

TEST_CASE("async_guard takes futures, coroutines and deferred operations") {
  auto rt = guards_only(opens_at_once());
  auto guard = rt.circuit("payments");
  asio::io_context io;
  const auto wait = [&](auto token) {
    auto timer = std::make_shared<asio::steady_timer>(io, 0ms);
    return asio::async_initiate<decltype(token), void(error_code)>(
        [timer](auto handler) {
          timer->async_wait([timer, handler = std::move(handler)](error_code e) mutable { std::move(handler)(e); });
        },
        token);
  };
  auto first = guard.async_guard(wait, asio::use_future);
  auto second = asio::co_spawn(
      io,
      [&]() -> asio::awaitable<int> {
        co_await guard.async_guard(wait, asio::use_awaitable);
        co_return 2;
      },
      asio::use_future);
  auto third = guard.async_guard(wait, asio::deferred)(asio::use_future);
  io.run();
  CHECK_NOTHROW(first.get());
  CHECK(second.get() == 2);
  CHECK_NOTHROW(third.get());

  // A coroutine as the operation: what it throws is its failure.
  const auto failing = [&](auto token) {
    return asio::co_spawn(
        io,
        []() -> asio::awaitable<int> {
          throw boost::system::system_error{asio::error::eof};
          co_return 1;
        },
        std::move(token));
  };
  auto failed = guard.async_guard(failing, asio::use_future);
  io.restart();
  io.run();
  CHECK_THROWS_AS(failed.get(), boost::system::system_error);

  auto refused = asio::co_spawn(
      io,
      [&]() -> asio::awaitable<bool> {
        auto [e] = co_await guard.async_guard(wait, asio::as_tuple(asio::use_awaitable));
        co_return e == errc::circuit_open;
      },
      asio::use_future);
  io.restart();
  io.run();
  CHECK(refused.get());
}

TEST_CASE("a real connect is guarded without a wrapper") {
  auto rt = guards_only(opens_at_once());
  auto guard = rt.circuit("backend");
  asio::io_context io;
  asio::ip::tcp::acceptor acceptor{io, {asio::ip::address_v4::loopback(), 0}};
  const auto endpoint = acceptor.local_endpoint();
  asio::ip::tcp::socket socket{io};
  const auto connect = [&] {
    socket = asio::ip::tcp::socket{io};
    error_code result = asio::error::would_block;
    guard.async_guard([&](auto token) { return socket.async_connect(endpoint, std::move(token)); },
                      asio::bind_executor(io, [&](error_code e) { result = e; }));
    io.restart();
    io.run();
    return result;
  };
  CHECK_FALSE(connect());
  acceptor.close();
  CHECK(connect() == asio::error::connection_refused);
  CHECK(connect() == errc::circuit_open);
}

TEST_CASE("a refused guard after the runtime's end completes with shutting_down") {
  held_operation operation;
  std::promise<error_code> result;
  circuit_guard{}.async_guard([&](auto token) { return operation.async_run(std::move(token)); },
                              [&](error_code e, int) { result.set_value(e); });
  CHECK(value_of(result.get_future()) == errc::shutting_down);
  CHECK(operation.started() == 0);
}
