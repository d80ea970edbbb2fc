#pragma once

#include "adapters/http/server/fixture.hpp"

#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>

namespace switchyard::crash_test {

/// A provider that answers every call after a while, each in other words, and counts those it has answered.
class counting_provider {
public:
  explicit counting_provider(std::uint64_t seed) : random_(seed) {}

  std::string address() const { return server_.server->address(); }

  std::uint64_t completed(const std::string& key) const {
    const std::lock_guard lock{mutex_};
    const auto found = completed_.find(key);
    return found == completed_.end() ? 0 : found->second;
  }

  /// Of each key that was called.
  std::map<std::string, std::uint64_t> all_completed() const {
    const std::lock_guard lock{mutex_};
    return completed_;
  }

  /// Waits until `count` further steps were taken: a call's arrival is one, and its answer. False if they do not come.
  bool wait_for_steps(std::uint64_t count) const {
    std::unique_lock lock{mutex_};
    return stepped_.wait_for(lock, std::chrono::minutes{2}, [&, until = steps_ + count] { return steps_ >= until; });
  }

private:
  void answer(const std::shared_ptr<http::exchange>& x) {
    const std::lock_guard lock{mutex_};
    step();
    const auto wait = std::chrono::milliseconds{std::uniform_int_distribution{1, 30}(random_)};
    const auto timer = std::make_shared<boost::asio::steady_timer>(x->context(), wait);
    timer->async_wait([this, x, timer](boost::system::error_code) { complete(*x); });
  }

  void complete(http::exchange& x) {
    const auto& body = x.request().body;
    const std::string before = R"("content":")";
    const auto begin = body.find(before) + before.size();
    const auto key = body.substr(begin, body.find('"', begin) - begin);
    std::uint64_t call = 0;
    {
      const std::lock_guard lock{mutex_};
      call = ++completed_[key];
      step();
    }
    header_list headers;
    headers.add("Content-Type", "application/json");
    x.reply(200, headers,
            R"({"choices":[{"message":{"role":"assistant","content":")" + key + " call " + std::to_string(call) +
                R"("},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":4}})");
  }

  void step() { // under the lock
    ++steps_;
    stepped_.notify_all();
  }

  mutable std::mutex mutex_;
  mutable std::condition_variable stepped_;
  std::uint64_t steps_ = 0;
  std::mt19937_64 random_;
  std::map<std::string, std::uint64_t> completed_;
  http::test::running_server server_{[this](const std::shared_ptr<http::exchange>& x) { answer(x); }};
};

} // namespace switchyard::crash_test
