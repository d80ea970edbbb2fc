#pragma once

#include "switchyard/actors/provider.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace switchyard::test {

/// A provider whose attempts end when the test says so. Thread-safe.
class scripted_provider final : public provider {
  struct handle final : attempt_handle {
    void cancel() noexcept override {
      cancelled = true;
      const std::lock_guard lock{mutex};
      listener.reset();
    }
    bool responded() const noexcept override { return has_responded; }
    void stream_to(std::shared_ptr<stream_sink> s) noexcept override {
      const std::lock_guard lock{mutex};
      sink = std::move(s);
    }
    stream_progress progress() const noexcept override {
      const std::lock_guard lock{mutex};
      return {.tokens = so_far};
    }

    mutable std::mutex mutex;
    std::shared_ptr<attempt_listener> listener;
    std::shared_ptr<stream_sink> sink;
    token_usage so_far;
    std::atomic<bool> cancelled{false}, has_responded{false};
  };

public:
  std::shared_ptr<attempt_handle> start(provider_request request, std::shared_ptr<attempt_listener> listener) override {
    auto made = std::make_shared<handle>();
    made->listener = std::move(listener);
    const std::lock_guard lock{mutex_};
    attempts_.push_back({std::move(request), made});
    return made;
  }

  std::size_t calls() const {
    const std::lock_guard lock{mutex_};
    return attempts_.size();
  }
  const provider_request& request(std::size_t i) const { return attempts_.at(i).request; }
  bool cancelled(std::size_t i) const { return attempts_.at(i).made->cancelled; }
  void respond(std::size_t i) { attempts_.at(i).made->has_responded = true; }

  /// Ends the last attempt; nothing happens if it was cancelled.
  void end(provider_result result) { end(calls() - 1, std::move(result)); }
  void end(std::size_t i, provider_result result) {
    if (const auto listener = listener_of(i))
      listener->on_attempt_done(std::move(result));
  }
  /// The first content of the last attempt's stream.
  void begin_content() {
    provider_result head;
    head.status = 200;
    head.headers.add("Content-Type", "text/event-stream");
    if (const auto listener = listener_of(calls() - 1))
      listener->on_content(std::move(head));
  }
  /// Where the last attempt's stream goes; null as long as nobody has said so.
  std::shared_ptr<stream_sink> sink() {
    auto& made = *attempts_.at(calls() - 1).made;
    const std::lock_guard lock{made.mutex};
    return made.sink;
  }
  void set_tokens(token_usage t) {
    auto& made = *attempts_.at(calls() - 1).made;
    const std::lock_guard lock{made.mutex};
    made.so_far = t;
  }

  /// Who listens to an attempt, for one that speaks when it should not.
  std::shared_ptr<attempt_listener> listener_of(std::size_t i) {
    auto& made = *attempts_.at(i).made;
    const std::lock_guard lock{made.mutex};
    return made.listener;
  }

private:
  struct attempt {
    provider_request request;
    std::shared_ptr<handle> made;
  };
  mutable std::mutex mutex_;
  std::vector<attempt> attempts_;
};

inline provider_result answer_of(std::string body) {
  provider_result r;
  r.sent = r.responded = true;
  r.status = 200;
  r.headers.add("Content-Type", "application/json");
  r.body = std::move(body);
  return r;
}

inline provider_result http_error(int status, failure_class f) {
  auto r = answer_of("{}");
  r.status = status;
  r.failure = f;
  return r;
}

inline provider_result lost_connection() {
  provider_result r;
  r.sent = true;
  r.error = transport_error::reset;
  return r;
}

} // namespace switchyard::test
