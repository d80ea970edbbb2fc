#include "fixture.hpp"

#include <boost/asio/use_future.hpp>

#include <algorithm>
#include <thread>

using namespace switchyard;
using namespace switchyard::test;
namespace asio = boost::asio;

namespace {

// Is stuck in its first call until it is let go.
class stuck_observer : public event_sink {
public:
  ~stuck_observer() override { let_go(); }

  void on_event(const event& e) noexcept override {
    std::unique_lock lock{mutex_};
    if (const auto* request = std::get_if<request_event>(&e))
      requests_.push_back(request->record.request.request_id);
    ++calls_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return free_; });
  }

  void wait_until_stuck() { wait_for_calls(1); }
  void wait_for_calls(std::size_t count) {
    std::unique_lock lock{mutex_};
    if (!changed_.wait_for(lock, patience, [&] { return calls_ >= count; }))
      throw std::runtime_error("the observer was not called in time");
  }
  void let_go() {
    std::lock_guard lock{mutex_};
    free_ = true;
    changed_.notify_all();
  }
  std::size_t calls() const {
    std::lock_guard lock{mutex_};
    return calls_;
  }
  std::vector<std::string> requests() const {
    std::lock_guard lock{mutex_};
    return requests_;
  }

private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t calls_ = 0;
  std::vector<std::string> requests_;
  bool free_ = false;
};

// Counts its calls.
class counting_observer : public event_sink {
public:
  void on_event(const event&) noexcept override {
    std::lock_guard lock{mutex_};
    ++calls_;
    changed_.notify_all();
  }
  std::size_t calls() const {
    std::lock_guard lock{mutex_};
    return calls_;
  }
  void wait_for_more_than(std::size_t count) {
    std::unique_lock lock{mutex_};
    if (!changed_.wait_for(lock, patience, [&] { return calls_ > count; }))
      throw std::runtime_error("the observer was not called in time");
  }

private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t calls_ = 0;
};

// The lines of a log; is stuck from the first one on while the test wants it.
struct shared_log {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> lines;
  bool stuck = false;

  static log_callback of(const std::shared_ptr<shared_log>& log) {
    return [log](log_level, std::string_view text) {
      std::unique_lock lock{log->mutex};
      log->lines.emplace_back(text);
      log->changed.notify_all();
      log->changed.wait(lock, [&] { return !log->stuck; });
    };
  }
  void wait_for(std::string_view part) {
    std::unique_lock lock{mutex};
    if (!changed.wait_for(lock, patience, [&] { return contains(part); }))
      throw std::runtime_error("the line was not logged in time");
  }
  bool contains(std::string_view part) const {
    return std::any_of(lines.begin(), lines.end(), [&](const auto& l) { return l.find(part) != std::string::npos; });
  }
  void let_go() {
    std::lock_guard lock{mutex};
    stuck = false;
    changed.notify_all();
  }
};

submit_result submit(runtime& rt, const std::string& id = "one") {
  auto r = chat_request();
  r.request_id = id;
  return value_of(rt.async_submit(std::move(r), asio::use_future));
}

runtime quick(log_callback log = {}) {
  auto options = with_provider(std::make_shared<quick_provider>(answer_of(200)));
  options.log = std::move(log);
  return start(one_route(), std::move(options));
}

} // namespace

TEST_CASE("a stuck observer held up requests, breakers and other observers [C15]") {
  auto rt = quick();
  const auto stuck = std::make_shared<stuck_observer>();
  const auto other = std::make_shared<counting_observer>();
  const auto watching = rt.observe(stuck);
  const auto watching_too = rt.observe(other);
  CHECK(submit(rt, "first"));
  stuck->wait_until_stuck();
  const auto before = other->calls();
  CHECK(submit(rt, "second"));
  other->wait_for_more_than(before);
  auto guard = rt.circuit("payments");
  guard.try_acquire()->failure();
  while (guard.try_acquire()) { // its breaker goes on
  }
  CHECK(guard.state() == circuit_state::open);
  stuck->let_go();
  rt.stop(patience); // shows it what is queued
  CHECK(stuck->requests() == std::vector<std::string>{"first", "second"});
}

TEST_CASE("an observer that is too slow misses events, and the log says so [C15]") {
  const auto log = std::make_shared<shared_log>();
  auto rt = quick(shared_log::of(log));
  const auto stuck = std::make_shared<stuck_observer>();
  auto watching = rt.observe(stuck);
  auto guard = rt.circuit("payments");
  guard.try_acquire()->success(1ms); // an event
  stuck->wait_until_stuck();
  for (std::size_t i = 0; i < core::observer_queue + 10; ++i)
    guard.try_acquire()->success(1ms);
  log->wait_for("an observer is too slow: 4096 events wait for it");
  stuck->let_go();
  stuck->wait_for_calls(core::observer_queue + 1);
  watching.reset();
  log->wait_for("an observer that was too slow missed 10 events");
  CHECK(stuck->calls() == core::observer_queue + 1);
}

TEST_CASE("an observer is not called after its token has gone") {
  auto rt = quick();
  auto guard = rt.circuit("payments");
  for (int i = 0; i < 50; ++i) {
    const auto observer = std::make_shared<counting_observer>();
    auto token = rt.observe(observer);
    std::thread busy{[&] {
      for (int n = 0; n < 50; ++n)
        guard.try_acquire()->success(1ms);
    }};
    observer->wait_for_more_than(0);
    token.reset();
    const auto calls = observer->calls();
    CHECK(observer.use_count() == 1);
    busy.join();
    CHECK(observer->calls() == calls);
  }
}

TEST_CASE("an observer may end its own observation") {
  struct leaving : event_sink {
    void on_event(const event&) noexcept override {
      std::lock_guard lock{mutex};
      token.reset();
      ++calls;
      if (calls == 1)
        called.set_value();
    }
    std::mutex mutex;
    std::shared_ptr<void> token;
    int calls = 0;
    std::promise<void> called;
  };
  auto rt = quick();
  const auto observer = std::make_shared<leaving>();
  {
    std::lock_guard lock{observer->mutex};
    observer->token = rt.observe(observer);
  }
  auto guard = rt.circuit("payments");
  guard.try_acquire()->success(1ms);
  guard.try_acquire()->success(1ms);
  value_of(observer->called.get_future());
  rt.stop(duration::zero());
  std::lock_guard lock{observer->mutex};
  CHECK(observer->calls == 1);
}

TEST_CASE("the end of one of two tokens of an observer ended both") {
  auto rt = quick();
  const auto observer = std::make_shared<counting_observer>();
  auto first = rt.observe(observer);
  const auto second = rt.observe(observer);
  first.reset();
  rt.circuit("payments").try_acquire()->success(1ms);
  observer->wait_for_more_than(0);
  rt.stop(duration::zero());
  CHECK(observer->calls() == 1);
}

TEST_CASE("a stuck observer does not keep a runtime from ending [C15]") {
  const auto stuck = std::make_shared<stuck_observer>();
  std::shared_ptr<void> watching;
  {
    auto rt = quick();
    watching = rt.observe(stuck);
    CHECK(submit(rt));
    stuck->wait_until_stuck();
    rt.stop(duration::zero());
    CHECK(stuck->calls() == 1);
  }
  stuck->let_go();
  while (stuck.use_count() > 1)
    std::this_thread::yield();
  CHECK(stuck->calls() == 1); // what was queued is not shown any more
}

TEST_CASE("an observer that is added after stop is never called") {
  auto rt = quick();
  auto guard = rt.circuit("payments");
  rt.stop(duration::zero());
  const auto observer = std::make_shared<counting_observer>();
  const auto watching = rt.observe(observer);
  guard.try_acquire()->success(1ms);
  CHECK(observer->calls() == 0);
}

TEST_CASE("a stuck log held up requests [C15]") {
  const auto log = std::make_shared<shared_log>();
  log->stuck = true;
  auto c = one_route();
  c.routes["chat"].fallback = {"nowhere"}; // a warning at the start
  auto refusing = answer_of(401);
  refusing.failure = failure_class::auth;
  auto options = with_provider(std::make_shared<quick_provider>(std::move(refusing)));
  options.log = shared_log::of(log);
  auto rt = start(std::move(c), std::move(options));
  log->wait_for("\"nowhere\": no such route; it is skipped");
  const auto refused = submit(rt); // and an error, for the refused key
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == errc::upstream_error);
  log->let_go();
  rt.stop(duration::zero()); // writes what is queued
  CHECK(log->contains("provider p refuses its key"));
}

TEST_CASE("a log that throws fails nothing [C15]") {
  std::promise<void> called;
  bool first = true;
  auto c = one_route();
  c.routes["chat"].fallback = {"nowhere"};
  auto options = with_provider(std::make_shared<quick_provider>(answer_of(200)));
  options.log = [&](log_level, std::string_view) {
    if (std::exchange(first, false))
      called.set_value();
    throw std::runtime_error("no");
  };
  auto rt = start(std::move(c), std::move(options));
  value_of(called.get_future());
  CHECK(submit(rt));
}
