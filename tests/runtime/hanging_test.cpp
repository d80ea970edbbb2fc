#include "fixture.hpp"
#include "held_operation.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

using namespace switchyard;
using namespace switchyard::test;
namespace asio = boost::asio;

namespace {

circuit_settings watches_for_hanging() {
  circuit_settings s;
  s.consecutive_failures = 100;
  s.cooldown = s.max_cooldown = 1h;
  s.window.emplace();
  s.window->size = 10;
  s.window->minimum_calls = 4;
  s.window->slow_call_rate = 1.0;
  s.window->slow_call_after = 20ms;
  return s;
}

} // namespace

TEST_CASE("hanging calls open the circuit before the first of them ends [C17]") {
  auto rt = guards_only(watches_for_hanging());
  const auto watch = std::make_shared<state_watch>();
  const auto watching = rt.observe(watch);
  auto guard = rt.circuit("payments");
  asio::io_context io;
  held_operation operation;
  int ended = 0;
  for (int i = 0; i < 4; ++i)
    guard.async_guard([&](auto token) { return operation.async_run(std::move(token)); },
                      asio::bind_executor(io, [&](boost::system::error_code, int) { ++ended; }));
  REQUIRE(operation.started() == 4);
  CHECK(watch->wait_for(circuit_state::open) == "slow_call_rate");
  CHECK(ended == 0);
  for (std::size_t i = 0; i < 4; ++i)
    operation.end(i, {}, 1);
  io.run();
  CHECK(ended == 4);
  CHECK(guard.state() == circuit_state::open); // their late successes change nothing [C9]
}

TEST_CASE("a guarded call that hung and then succeeded stays one slow call [C17]") {
  auto profile = watches_for_hanging();
  profile.window->minimum_calls = 2;
  auto rt = guards_only(profile);
  const auto watch = std::make_shared<state_watch>();
  const auto watching = rt.observe(watch);
  auto guard = rt.circuit("payments");
  asio::io_context io;
  held_operation operation;
  const auto call = [&] {
    guard.async_guard([&](auto token) { return operation.async_run(std::move(token)); },
                      asio::bind_executor(io, [](boost::system::error_code, int) {}));
  };
  // The first hangs: counted once when it hangs and not again when it ends, so it alone does not trip at two calls.
  call();
  asio::steady_timer longer_than_the_limit{io, 40ms};
  longer_than_the_limit.async_wait([&](boost::system::error_code) { operation.end(0, {}, 1); });
  io.run();
  CHECK(guard.try_acquire());
  CHECK(guard.state() == circuit_state::closed);
  // The second makes two of two.
  call();
  CHECK(watch->wait_for(circuit_state::open) == "slow_call_rate");
  operation.end(1, {}, 1);
  io.restart();
  io.run();
}
