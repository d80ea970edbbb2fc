#pragma once

#include "fixture.hpp"

#include <condition_variable>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace switchyard::http::test {

using namespace std::chrono_literals;

/// Events of one line each: "c..." is content, "end" the end, "bad" a bad frame, anything else holds no content.
class line_reader : public stream_reader {
public:
  state feed(std::string_view bytes, std::string& out) override {
    rest_ += bytes;
    for (std::size_t end; where_ < state::ended && (end = rest_.find('\n')) != rest_.npos; rest_.erase(0, end + 1)) {
      const auto line = rest_.substr(0, end + 1);
      if (line == "bad\n") {
        where_ = state::failed;
        failure_ = failure_class::soft_failure;
        break;
      }
      held_ += line;
      if (line.front() == 'c') {
        where_ = state::flowing;
        ++contents_;
      }
      finished_ = finished_ || line == "finish\n";
      if (line == "end\n")
        where_ = where_ == state::holding ? state::failed : state::ended;
    }
    if (contents_ > 0)
      out += std::exchange(held_, {});
    return where_;
  }
  state finish(std::string&) override {
    if (finished_ && where_ == state::flowing)
      where_ = state::ended;
    if (where_ != state::ended && where_ != state::failed) {
      failure_ = where_ == state::holding ? failure_class::empty_response : failure_class::connection;
      where_ = state::failed;
    }
    return where_;
  }
  state where() const noexcept override { return where_; }
  bool complete() const noexcept override { return where_ == state::ended || finished_; }
  failure_class failure() const noexcept override { return failure_; }
  token_usage tokens() const noexcept override { return {1, contents_, true}; }

private:
  state where_ = state::holding;
  failure_class failure_ = failure_class::empty_response;
  std::string rest_, held_;
  std::uint64_t contents_ = 0;
  bool finished_ = false;
};

/// Takes a stream as the test says.
class stream_client : public attempt_listener, public stream_sink, public std::enable_shared_from_this<stream_client> {
public:
  void on_content(provider_result&& head) noexcept override {
    std::lock_guard lock(mutex_);
    head_ = std::move(head);
    changed_.notify_all();
  }
  void on_attempt_done(provider_result&& result) noexcept override {
    std::lock_guard lock(mutex_);
    result_ = std::move(result);
    changed_.notify_all();
  }
  void on_bytes(std::string_view bytes, std::function<void(bool)> taken) override {
    bool at_once = false;
    {
      std::lock_guard lock(mutex_);
      if (throws_)
        throw std::runtime_error("full");
      bytes_ += bytes;
      largest_ = std::max(largest_, bytes.size());
      at_once = takes_;
      if (!at_once)
        taken_ = taken;
    }
    changed_.notify_all();
    if (at_once)
      taken(more_);
  }

  template <class Predicate>
  bool wait_until(Predicate holds) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience, holds);
  }
  bool has_content() {
    return wait_until([this] { return head_.has_value(); });
  }
  bool gets(std::string_view text) {
    return wait_until([&] { return bytes_ == text; });
  }
  bool is_done() {
    return wait_until([this] { return result_.has_value(); });
  }
  bool done_already() {
    std::lock_guard lock(mutex_);
    return result_.has_value();
  }
  const provider_result& result() const { return *result_; }
  const provider_result& head() const { return *head_; }
  const std::string& bytes() const { return bytes_; }
  std::size_t largest() const { return largest_; }

  void take_nothing() { takes_ = false; }
  void throw_next() { throws_ = true; }
  void take_the_last() { more_ = false; }
  /// Takes what came, and all that comes.
  void take_all() {
    std::function<void(bool)> taken;
    {
      std::lock_guard lock(mutex_);
      takes_ = true;
      taken = std::move(taken_);
    }
    if (taken)
      taken(more_);
  }
  bool has_piece() {
    return wait_until([this] { return taken_ != nullptr; });
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<provider_result> head_, result_;
  std::string bytes_;
  std::size_t largest_ = 0;
  bool takes_ = true, throws_ = false, more_ = true;
  std::function<void(bool)> taken_;
};

struct stream_fixture : fixture {
  explicit stream_fixture(const std::string& url) : fixture(url) {
    read_stream = [](const provider_request&) { return std::make_unique<line_reader>(); };
  }

  std::shared_ptr<attempt_handle> start(const std::shared_ptr<stream_client>& c) {
    auto r = request_with("{}");
    r.stream = true;
    return client().start(std::move(r), c);
  }

  /// Starts one and lets it flow when its first content has come.
  std::shared_ptr<attempt_handle> flow(const std::shared_ptr<stream_client>& c) {
    auto attempt = start(c);
    REQUIRE(c->has_content());
    attempt->stream_to(c);
    return attempt;
  }
};

constexpr std::string_view head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nX-A: b\r\n"
                                  "Connection: close\r\n\r\n";

constexpr std::string_view chunked_head =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

inline std::string events(std::string_view lines) {
  return std::string{head} + std::string{lines};
}

} // namespace switchyard::http::test
