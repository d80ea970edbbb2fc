#include "fixture.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>

#include <thread>

using namespace switchyard;
using namespace switchyard::test;
namespace asio = boost::asio;

namespace {

circuit_settings opens_after(std::uint32_t failures) {
  circuit_settings s;
  s.consecutive_failures = failures;
  s.cooldown = s.max_cooldown = 1h;
  return s;
}

} // namespace

TEST_CASE("exactly the n-th failure opens, and the next caller is refused at once [C4, C11]") {
  auto runtime = guards_only(opens_after(3));
  auto guard = runtime.circuit("payments");
  for (int i = 0; i < 3; ++i) {
    auto permit = guard.try_acquire();
    REQUIRE(permit);
    CHECK_FALSE(permit->is_probe());
    CHECK(permit->failure());
  }
  const auto refused = guard.try_acquire();
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == errc::circuit_open);
  CHECK(refused.error().circuit == "payments");
  REQUIRE(refused.error().retry_after);
  CHECK(*refused.error().retry_after <= 1h);
  CHECK(guard.state() == circuit_state::open);
  CHECK(guard.retry_after());
  CHECK(boost::system::error_code{refused.error()} == errc::circuit_open);
  CHECK_THROWS_AS(guard.try_acquire().value(), boost::system::system_error);
  CHECK(runtime.metrics_text().find("switchyard_circuit_rejected_total{") != std::string::npos);
}

TEST_CASE("a success ends the streak, a neutral outcome leaves it alone [C1, C3]") {
  auto runtime = guards_only(opens_after(2));
  auto guard = runtime.circuit("payments");
  guard.try_acquire()->failure();
  guard.try_acquire()->success();
  guard.try_acquire()->failure();
  CHECK(guard.try_acquire()); // not the second in a row; dropped, which says nothing [C16]
  guard.try_acquire()->neutral();
  guard.try_acquire()->cancel();
  guard.try_acquire()->failure(failure_class::client_error); // does not trip, by the table
  CHECK(guard.try_acquire());
  guard.try_acquire()->failure(failure_class::server_error);
  CHECK_FALSE(guard.try_acquire());
}

TEST_CASE("a permit is reported once: later reports are refused and counted [C9]") {
  auto runtime = guards_only(opens_after(1));
  auto guard = runtime.circuit("payments");
  auto permit = guard.try_acquire();
  REQUIRE(permit);
  CHECK(static_cast<bool>(*permit));
  CHECK(permit->success());
  CHECK_FALSE(static_cast<bool>(*permit));
  CHECK_FALSE(permit->success());
  CHECK_FALSE(permit->failure());
  CHECK_FALSE(permit->neutral());
  CHECK_FALSE(permit->cancel());
  CHECK(guard.refused_reports() == 4);
  CHECK(guard.try_acquire()); // the failure did not count
}

TEST_CASE("a moved permit takes the duty along") {
  auto runtime = guards_only(opens_after(1));
  auto guard = runtime.circuit("payments");
  auto first = guard.try_acquire();
  auto second = std::move(*first);
  CHECK_FALSE(first->failure());
  CHECK(guard.try_acquire());
  CHECK(second.failure());
  CHECK_FALSE(guard.try_acquire());
  CHECK(guard.refused_reports() == 0);
}

TEST_CASE("a late success does not close and a late failure does not extend [C9]") {
  auto runtime = guards_only(opens_after(1));
  auto guard = runtime.circuit("payments");
  auto late_success = guard.try_acquire();
  auto late_failure = guard.try_acquire();
  guard.try_acquire()->failure();
  const auto before = guard.try_acquire();
  REQUIRE_FALSE(before);
  CHECK(late_success->success());
  CHECK(late_failure->failure(48h));
  const auto after = guard.try_acquire();
  REQUIRE_FALSE(after);
  CHECK(*after.error().retry_after <= *before.error().retry_after);
}

TEST_CASE("a failure's retry_after lengthens the cooldown [C5]") {
  auto profile = opens_after(1);
  profile.cooldown = 1min;
  auto runtime = guards_only(profile);
  auto guard = runtime.circuit("payments");
  guard.try_acquire()->failure(failure_class::rate_limit, 50min);
  const auto refused = guard.try_acquire();
  REQUIRE_FALSE(refused);
  CHECK(*refused.error().retry_after > 40min);
}

TEST_CASE("a success that took longer than the limit is slow [C1]") {
  auto profile = opens_after(100);
  profile.window.emplace();
  profile.window->size = 10;
  profile.window->minimum_calls = 4;
  profile.window->slow_call_rate = 0.5;
  profile.window->slow_call_after = 10min;
  auto runtime = guards_only(profile);
  auto guard = runtime.circuit("payments");
  for (int i = 0; i < 4; ++i) {
    auto permit = guard.try_acquire();
    REQUIRE(permit);
    CHECK((i % 2 == 0 ? permit->success(11min) : permit->success()));
  }
  CHECK_FALSE(guard.try_acquire());
}

TEST_CASE("a window counts every outcome, whichever thread reports it [C2, C4]") {
  auto profile = opens_after(1'000'000);
  profile.window.emplace();
  profile.window->size = 400;
  profile.window->minimum_calls = 400;
  profile.window->failure_rate = 0.5;
  auto runtime = guards_only(profile);
  auto guard = runtime.circuit("payments");
  const auto run = [&](int calls) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < calls; ++i) {
          auto permit = guard.try_acquire();
          i % 2 == 0 ? permit->failure() : permit->success();
        }
      });
    for (auto& t : threads)
      t.join();
  };
  run(98); // 392 of 400
  CHECK(guard.try_acquire());
  run(2); // the rate is exactly one half
  CHECK_FALSE(guard.try_acquire());
}

TEST_CASE("a call whose duration is known is in the metrics") {
  auto runtime = guards_only(opens_after(3));
  auto guard = runtime.circuit("payments");
  CHECK(guard.try_acquire()->success(5ms));
  CHECK(runtime.metrics_text().find("switchyard_call_duration_seconds_count{outcome=\"success\"} 1") !=
        std::string::npos);
}

TEST_CASE("circuits of one id are one circuit, and an unknown profile is a programming error") {
  config c;
  c.circuits["strict"] = opens_after(1);
  auto runtime = start(std::move(c), with_provider(nullptr));
  auto guard = runtime.circuit("payments", "strict");
  runtime.circuit("payments").try_acquire()->failure();
  CHECK_FALSE(guard.try_acquire());
  CHECK(runtime.circuit("other").try_acquire());
  CHECK_THROWS_AS(runtime.circuit("third", "missing"), std::invalid_argument);
}

TEST_CASE("async_acquire answers like try_acquire") {
  auto runtime = guards_only(opens_after(1));
  auto guard = runtime.circuit("payments");
  auto permit = value_of(guard.async_acquire(asio::use_future));
  REQUIRE(permit);
  CHECK(permit->failure());
  const auto refused = value_of(guard.async_acquire(asio::use_future)); // asks: a trip may be pending
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == errc::circuit_open);
  CHECK(refused.error().retry_after);
}

TEST_CASE("an acquisition waited in a queue for longer than its circuit lived") {
  const std::string down = "down, and with a name that is too long for the string itself";
  std::weak_ptr<held_provider> core_alive;
  asio::io_context io;
  std::optional<acquisition> granted;
  std::string refused_by;
  {
    auto c = one_route();
    c.circuits["default"] = opens_after(1);
    auto witness = std::make_shared<held_provider>();
    core_alive = witness;
    auto runtime = start(std::move(c), with_provider(std::move(witness)));
    runtime.circuit("payments").async_acquire(asio::bind_executor(io, [&](acquisition a) {
      granted.emplace(std::move(a));
    }));
    runtime.circuit(down).try_acquire()->failure();
    CHECK_FALSE(runtime.circuit(down).try_acquire()); // so that the next is refused at once
    runtime.circuit(down).async_acquire(asio::bind_executor(io, [&](acquisition a) {
      if (!a)
        refused_by = a.error().circuit;
    }));
  }
  CHECK_FALSE(core_alive.expired());
  io.run();
  CHECK(refused_by == down);
  REQUIRE(granted);
  REQUIRE(*granted);
  CHECK_FALSE(core_alive.expired());
  auto moved = std::move(**granted);
  granted.reset();
  CHECK(moved.success());
  CHECK_FALSE(core_alive.expired());
  { const auto last = std::move(moved); }
  CHECK(core_alive.expired());
}

TEST_CASE("a queue that is dropped gives its acquisitions back") {
  std::weak_ptr<held_provider> core_alive;
  {
    asio::io_context io;
    auto witness = std::make_shared<held_provider>();
    core_alive = witness;
    auto runtime = start(one_route(), with_provider(std::move(witness)));
    auto future = runtime.circuit("payments").async_acquire(asio::use_future);
    runtime.circuit("payments").async_acquire(asio::bind_executor(io, [](acquisition) {}));
    value_of(std::move(future));
  }
  CHECK(core_alive.expired());
}
