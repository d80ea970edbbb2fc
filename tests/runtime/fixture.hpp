#pragma once

#include "switchyard/actors/provider.hpp"
#include "switchyard/runtime/runtime.hpp"

#include "support/catch.hpp"
#include "support/temp_dir.hpp"

#include <boost/asio/thread_pool.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

/// Lets Catch2 show results; their own output asks for that of a response or a permit.
template <>
struct Catch::StringMaker<switchyard::submit_result> {
  static std::string convert(const switchyard::submit_result& r) {
    return r ? "response " + std::to_string(r->status)
             : std::string{to_string(r.error().code)} + ": " + r.error().message;
  }
};
template <>
struct Catch::StringMaker<switchyard::acquisition> {
  static std::string convert(const switchyard::acquisition& a) {
    return a ? "permit" : "refusal: " + std::string{to_string(a.error().code)};
  }
};
template <>
struct Catch::StringMaker<boost::system::result<switchyard::runtime, switchyard::start_error>> {
  static std::string convert(const boost::system::result<switchyard::runtime, switchyard::start_error>& r) {
    return r ? "runtime" : r.error().message;
  }
};

template <>
struct Catch::StringMaker<boost::system::result<void, switchyard::start_error>> {
  static std::string convert(const boost::system::result<void, switchyard::start_error>& r) {
    return r ? "taken" : r.error().message;
  }
};

namespace switchyard::test {

/// Nothing waits for longer: a test that would hang fails instead.
inline constexpr std::chrono::seconds patience{60};

/// What a future comes to.
template <class T>
T value_of(std::future<T> f) {
  if (f.wait_for(patience) != std::future_status::ready)
    throw std::runtime_error("nothing came in time");
  return f.get();
}

inline const std::string usable_body = R"({"choices":[{"message":{"content":"hello"}}]})";

inline provider_result answer_of(int status, std::string body = usable_body) {
  provider_result r;
  r.sent = r.responded = true;
  r.status = status;
  r.headers.add("Content-Type", "application/json");
  r.body = std::move(body);
  if (status >= 500)
    r.failure = failure_class::server_error;
  else if (status >= 400)
    r.failure = failure_class::client_error;
  return r;
}

/// A provider whose attempts end when the test says so.
class held_provider : public provider {
public:
  struct attempt : attempt_handle {
    provider_request request;
    std::atomic<bool> cancelled = false;
    void cancel() noexcept override {
      cancelled = true;
      take_listener(); // it must not be kept any longer
    }
    bool responded() const noexcept override { return false; }
    std::shared_ptr<attempt_listener> take_listener() {
      std::lock_guard lock{mutex};
      return std::exchange(listener, nullptr);
    }
    std::mutex mutex;
    std::shared_ptr<attempt_listener> listener;
  };

  std::shared_ptr<attempt_handle> start(provider_request request, std::shared_ptr<attempt_listener> listener) override {
    auto a = std::make_shared<attempt>();
    a->request = std::move(request);
    a->listener = std::move(listener);
    std::lock_guard lock{mutex_};
    attempts_.push_back(a);
    changed_.notify_all();
    return a;
  }

  /// The attempt of that number, from 0; waits for it.
  std::shared_ptr<attempt> at(std::size_t i) {
    std::unique_lock lock{mutex_};
    if (!changed_.wait_for(lock, patience, [&] { return attempts_.size() > i; }))
      throw std::runtime_error("the attempt did not come in time");
    return attempts_[i];
  }

  /// Ends an attempt, unless it was cancelled.
  void answer(std::size_t i, provider_result result) {
    if (const auto listener = at(i)->take_listener())
      listener->on_attempt_done(std::move(result));
  }

  std::size_t attempts() const {
    std::lock_guard lock{mutex_};
    return attempts_.size();
  }

private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<attempt>> attempts_;
};

/// A provider that answers each attempt at once, on a thread of its own.
class quick_provider : public held_provider {
public:
  explicit quick_provider(provider_result result) : result_(std::move(result)) {}
  ~quick_provider() override { pool_.join(); }

  std::shared_ptr<attempt_handle> start(provider_request request, std::shared_ptr<attempt_listener> listener) override {
    boost::asio::post(pool_, [this, listener] { listener->on_attempt_done(provider_result{result_}); });
    return held_provider::start(std::move(request), nullptr);
  }

private:
  provider_result result_;
  boost::asio::thread_pool pool_{1};
};

/// One route "chat" to one provider "p", called once for each request; circuits that open at the first failure.
inline config one_route() {
  config c;
  c.circuits["default"].consecutive_failures = 1;
  c.providers["p"].base_url = "http://127.0.0.1:9";
  auto& chat = c.routes["chat"];
  chat.provider = "p";
  chat.model = "m";
  chat.retry.max_attempts = 1;
  return c;
}

inline core_options with_provider(std::shared_ptr<provider> p) {
  core_options o;
  o.in_memory = true;
  o.io_threads = 1;
  if (p)
    o.providers["p"] = std::move(p);
  return o;
}

inline runtime start(config c, core_options o) {
  return runtime::start(std::move(c), std::move(o)).value();
}

/// A runtime for guards only.
inline runtime guards_only(const circuit_settings& profile) {
  config c;
  c.circuits["default"] = profile;
  return start(std::move(c), with_provider(nullptr));
}

inline request chat_request() {
  request r;
  r.route = "chat";
  r.body = R"({"messages":[]})";
  return r;
}

/// Waits for changes of state.
class state_watch : public event_sink {
public:
  void on_event(const event& e) noexcept override {
    if (const auto* change = std::get_if<circuit_state_event>(&e)) {
      std::lock_guard lock{mutex_};
      changes_.push_back({change->to, std::string{change->reason}});
      changed_.notify_all();
    }
  }

  /// Waits until the last change led there, for so many times; its reason.
  std::string wait_for(circuit_state to, int times = 1) {
    std::unique_lock lock{mutex_};
    const auto led_there = [&] {
      const auto n = std::count_if(changes_.begin(), changes_.end(), [&](const auto& c) { return c.first == to; });
      return n >= times && changes_.back().first == to;
    };
    if (!changed_.wait_for(lock, patience, led_there))
      throw std::runtime_error("the circuit did not change in time");
    return changes_.back().second;
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::pair<circuit_state, std::string>> changes_;
};

} // namespace switchyard::test
