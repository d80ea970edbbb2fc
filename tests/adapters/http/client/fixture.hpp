#pragma once

#include "scripted_server.hpp"
#include "support/catch.hpp"

#include "switchyard/http/client.hpp"

#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <string>

namespace switchyard::http::test {

constexpr std::chrono::seconds patience{10};

/// Keeps what the attempt came to.
class outcome : public attempt_listener {
public:
  void on_attempt_done(provider_result&& result) noexcept override {
    if (calls_.fetch_add(1) == 0)
      promise_.set_value(std::move(result));
  }
  /// Waits for it.
  provider_result get() {
    REQUIRE(future_.wait_for(patience) == std::future_status::ready);
    return future_.get();
  }
  int calls() const noexcept { return calls_.load(); }

private:
  std::atomic<int> calls_{0};
  std::promise<provider_result> promise_;
  std::future<provider_result> future_ = promise_.get_future();
};

inline provider_request request_with(std::string body, std::string path = "/chat/completions") {
  provider_request r;
  r.path = std::move(path);
  r.body = std::make_shared<const std::string>(std::move(body));
  return r;
}

/// Waits until something holds that nobody announces.
template <class Predicate>
bool eventually(Predicate holds) {
  std::mutex mutex;
  std::condition_variable nobody;
  std::unique_lock lock(mutex);
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end)
      return false;
    nobody.wait_for(lock, std::chrono::milliseconds(2));
  }
  return true;
}

/// I/O threads and one client.
struct fixture {
  explicit fixture(const std::string& url, std::size_t count = 1) : threads(count) {
    settings.name = "p";
    settings.base_url = url;
    threads.start();
  }

  client_provider& client() {
    if (!client_) {
      auto made = make_client(threads, settings, {inspect, read_stream});
      REQUIRE(made);
      client_ = *made;
    }
    return *client_;
  }
  void drop_client() { client_.reset(); }

  provider_result call(provider_request r = request_with("{}")) {
    auto o = std::make_shared<outcome>();
    client().start(std::move(r), o);
    return o->get();
  }

  io_threads threads;
  provider_settings settings;
  answer_inspector inspect;
  stream_reader_factory read_stream;

private:
  std::shared_ptr<client_provider> client_;
};

/// The result of one call to a server with this script.
inline provider_result call_once(script s, const std::function<void(provider_settings&)>& change = {}) {
  scripted_server server(std::move(s));
  fixture f(server.url());
  if (change)
    change(f.settings);
  return f.call();
}

/// A script that sends these bytes as the answer to a request, and closes.
inline script says(std::string bytes) {
  return [bytes = std::move(bytes)](peer& p) {
    if (p.read_request())
      p.write(bytes);
  };
}

} // namespace switchyard::http::test
