#include "fixture.hpp"

#include <boost/asio/use_future.hpp>

#include <atomic>
#include <thread>

using namespace switchyard;
using namespace switchyard::test;
namespace asio = boost::asio;

TEST_CASE("stopping with requests in flight calls every handler") {
  const auto provider = std::make_shared<held_provider>();
  auto runtime = start(one_route(), with_provider(provider));
  constexpr int count = 40;
  std::vector<std::future<submit_result>> results;
  for (int i = 0; i < count; ++i) {
    auto r = chat_request();
    if (i % 2 == 1)
      r.idempotency_key = "key-" + std::to_string(i / 4); // leaders and joiners
    results.push_back(runtime.async_submit(std::move(r), asio::use_future));
  }
  provider->at(count / 2 - 1);
  runtime.stop(duration::zero());
  for (auto& r : results) {
    const auto result = value_of(std::move(r));
    REQUIRE_FALSE(result);
    CHECK(result.error().code == errc::shutting_down); // joiners too
  }
  CHECK(runtime.in_flight() == 0);
}

TEST_CASE("running requests have the grace to end") {
  const auto provider = std::make_shared<held_provider>();
  auto runtime = start(one_route(), with_provider(provider));
  auto result = runtime.async_submit(chat_request(), asio::use_future);
  provider->at(0);
  std::thread stopping{[&] { runtime.stop(patience); }};
  auto nowhere = chat_request();
  nowhere.route = "nowhere";
  while (value_of(runtime.async_submit(nowhere, asio::use_future)).error().code != errc::shutting_down) {
  }
  provider->answer(0, answer_of(200));
  stopping.join();
  CHECK(value_of(std::move(result)));
}

TEST_CASE("after stop everything is refused with shutting_down and nothing crashes") {
  const auto provider = std::make_shared<quick_provider>(answer_of(200));
  auto runtime = start(one_route(), with_provider(provider));
  auto guard = runtime.circuit("payments");
  auto before = guard.try_acquire();
  runtime.stop(duration::zero());
  runtime.stop(duration::zero());

  const auto result = value_of(runtime.async_submit(chat_request(), asio::use_future));
  REQUIRE_FALSE(result);
  CHECK(result.error().code == errc::shutting_down);
  CHECK(provider->attempts() == 0);

  REQUIRE(before);
  CHECK(before->failure());
  const auto refused = guard.try_acquire(); // that failure may have tripped it, and nobody is there to say
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == errc::shutting_down);
  CHECK(value_of(guard.async_acquire(asio::use_future)).error().code == errc::shutting_down);

  auto late = runtime.circuit("another");
  CHECK(late.try_acquire().error().code == errc::shutting_down);
}

TEST_CASE("a guard and its permits outlive the runtime") {
  circuit_guard guard;
  CHECK(guard.try_acquire().error().code == errc::shutting_down);
  CHECK(guard.id().empty());
  std::optional<acquisition> held;
  {
    auto runtime = guards_only({});
    guard = runtime.circuit("payments");
    held.emplace(guard.try_acquire());
  }
  CHECK(guard.id() == "payments");
  CHECK((*held)->success());
  CHECK(guard.state() == circuit_state::closed);
}

TEST_CASE("submits from many threads while the runtime stops all complete") {
  auto runtime = start(one_route(), with_provider(std::make_shared<quick_provider>(answer_of(200))));
  std::atomic<int> submitted = 0, completed = 0;
  std::atomic<bool> go_on = true;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      while (go_on) {
        ++submitted;
        value_of(runtime.async_submit(chat_request(), asio::use_future));
        ++completed;
      }
    });
  while (completed < 20)
    std::this_thread::yield();
  runtime.stop(duration::zero());
  go_on = false;
  for (auto& t : threads)
    t.join();
  CHECK(completed == submitted);
}
