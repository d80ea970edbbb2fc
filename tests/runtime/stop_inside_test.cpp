// A runtime that is stopped on a thread of its own cannot wait for itself; each of these once hung or ended the
// program.

#include "fixture.hpp"

#include "switchyard/actors/messages.hpp"

#include <boost/asio/use_future.hpp>

#include <thread>

using namespace switchyard;
using namespace switchyard::test;
namespace asio = boost::asio;

namespace {

runtime quick() {
  return start(one_route(), with_provider(std::make_shared<quick_provider>(answer_of(200))));
}

// What holds of a runtime that was stopped from within: the end is waited for elsewhere.
void check_ended(runtime& rt) {
  CHECK(value_of(rt.async_submit(chat_request(), asio::use_future)).error().code == errc::shutting_down);
  rt.stop(duration::zero());
  CHECK(rt.in_flight() == 0);
}

} // namespace

TEST_CASE("a handler on an I/O thread may stop the runtime") {
  auto rt = quick();
  std::promise<void> stopped;
  rt.async_submit(chat_request(), [&](submit_result) {
    rt.stop(duration::zero());
    stopped.set_value();
  });
  value_of(stopped.get_future());
  check_ended(rt);
}

TEST_CASE("a handler on an I/O thread may destroy the runtime") {
  auto provider = std::make_shared<quick_provider>(answer_of(200));
  const std::weak_ptr<quick_provider> alive = provider;
  auto rt = std::make_unique<runtime>(start(one_route(), with_provider(std::move(provider))));
  std::promise<void> destroyed;
  rt->async_submit(chat_request(), [&](submit_result) {
    rt.reset();
    destroyed.set_value();
  });
  value_of(destroyed.get_future());
  const auto limit = std::chrono::steady_clock::now() + patience;
  while (!alive.expired() && std::chrono::steady_clock::now() < limit)
    std::this_thread::yield();
  CHECK(alive.expired());
}

TEST_CASE("a provider may stop the runtime while it starts an attempt") {
  struct stopping : quick_provider {
    stopping() : quick_provider(answer_of(200)) {}
    std::shared_ptr<attempt_handle> start(provider_request r, std::shared_ptr<attempt_listener> l) override {
      rt->stop(patience);
      return quick_provider::start(std::move(r), std::move(l));
    }
    runtime* rt = nullptr;
  };
  const auto provider = std::make_shared<stopping>();
  auto rt = start(one_route(), with_provider(provider));
  provider->rt = &rt;
  CHECK(value_of(rt.async_submit(chat_request(), asio::use_future))); // has its grace
  check_ended(rt);
}

TEST_CASE("an observer may stop the runtime") {
  struct stopping : event_sink {
    void on_event(const event&) noexcept override {
      if (auto* r = std::exchange(rt, nullptr)) {
        r->stop(duration::zero());
        stopped.set_value();
      }
    }
    runtime* rt = nullptr;
    std::promise<void> stopped;
  };
  auto rt = quick();
  const auto observer = std::make_shared<stopping>();
  observer->rt = &rt;
  const auto watching = rt.observe(observer);
  rt.circuit("payments").try_acquire()->success(1ms);
  value_of(observer->stopped.get_future());
  check_ended(rt);
}

TEST_CASE("a log callback may stop the runtime") {
  std::promise<runtime*> started;
  std::promise<void> stopped;
  auto c = one_route();
  c.routes["chat"].fallback = {"nowhere"}; // is worth a line
  auto options = with_provider(std::make_shared<quick_provider>(answer_of(200)));
  options.log = [&, first = true](log_level, std::string_view) mutable {
    if (std::exchange(first, false)) {
      value_of(started.get_future())->stop(duration::zero());
      stopped.set_value();
    }
  };
  auto rt = start(std::move(c), std::move(options));
  started.set_value(&rt);
  value_of(stopped.get_future());
  check_ended(rt);
}

TEST_CASE("a callback on an actor's thread may stop the runtime") {
  auto rt = quick();
  std::promise<void> stopped;
  rt.engine().list_circuits([&](admin_result<std::vector<circuit_description>> found) {
    CHECK(found.has_value());
    rt.stop(duration::zero());
    stopped.set_value();
  });
  value_of(stopped.get_future());
  check_ended(rt);
}

TEST_CASE("whoever stops a runtime that is being stopped waits for its end too") {
  auto rt = quick();
  std::vector<std::thread> threads;
  std::atomic<int> ended = 0;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      rt.engine().stop(duration::zero());
      ended += rt.engine().in_flight() == 0;
    });
  for (auto& t : threads)
    t.join();
  CHECK(ended == 4);
}

TEST_CASE("a guard that outlived its runtime kept the data directory locked") {
  temp_dir dir;
  auto c = one_route();
  c.telemetry.path = dir.path().string();
  auto options = with_provider(std::make_shared<quick_provider>(answer_of(200)));
  options.in_memory = false;
  circuit_guard guard;
  {
    auto first = start(c, options);
    guard = first.circuit("payments");
  }
  CHECK(runtime::start(c, options));
  CHECK(guard.id() == "payments");
}
