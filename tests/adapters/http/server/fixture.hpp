#pragma once

#include "raw_client.hpp"
#include "support/catch.hpp"
#include "switchyard/http/server.hpp"

#include <boost/asio/post.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace switchyard::http::test {

using namespace std::chrono_literals;

inline constexpr auto patience = 10s;

/// Waits for what no callback tells; never a fixed time.
template <class Predicate>
bool eventually(Predicate holds) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end)
      return false;
    std::this_thread::yield();
  }
  return true;
}

/// Hands values from the I/O threads to the test.
template <class T>
class mailbox {
public:
  void put(T value) {
    // Under the lock: who takes the value may destroy the mailbox next.
    const std::lock_guard lock(mutex_);
    values_.push_back(std::move(value));
    filled_.notify_one();
  }
  T take() {
    std::unique_lock lock(mutex_);
    if (!filled_.wait_for(lock, patience, [this] { return !values_.empty(); }))
      throw std::runtime_error("nothing arrived within 10 s");
    T value = std::move(values_.front());
    values_.pop_front();
    return value;
  }
  std::size_t size() {
    const std::lock_guard lock(mutex_);
    return values_.size();
  }

private:
  std::mutex mutex_;
  std::condition_variable filled_;
  std::deque<T> values_;
};

inline header_list text_plain() {
  header_list headers;
  headers.add("Content-Type", "text/plain");
  return headers;
}

inline std::pair<header_list, std::string> plain_refusal(const refusal& why) {
  return {text_plain(), std::string(why.code)};
}

inline std::uint16_t port_of(const std::string& address) {
  return static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
}

/// Answers with method, path, query and body of the request.
inline void echo(const std::shared_ptr<exchange>& x) {
  const auto& r = x->request();
  x->reply(200, text_plain(), r.method + " " + r.path + "?" + r.query + " " + r.body);
}

/// A server on two I/O threads.
class running_server {
public:
  explicit running_server(handler on_request, server_options options = {}) {
    threads.start();
    auto started = listen(threads, options, std::move(on_request), plain_refusal);
    if (!started)
      throw std::runtime_error(started.error());
    server = *started;
    port = port_of(server->address());
  }
  ~running_server() {
    server.reset();
    threads.stop();
  }

  raw_client client(int receive_buffer = 0) const { return raw_client(port, receive_buffer); }
  bool connections_become(std::size_t count) {
    return eventually([&] { return server->connections() == count; });
  }

  io_threads threads{2};
  /// Returns when each I/O thread has done what was ready before.
  void let_threads_turn() {
    for (std::size_t i = 0; i < threads.size(); ++i) {
      mailbox<bool> turn;
      boost::asio::post(threads.at(i), [&] { turn.put(true); });
      turn.take();
    }
  }

  std::shared_ptr<http::server> server;
  std::uint16_t port = 0;
};

/// Does `work` on the exchange's thread and waits until it is done.
inline void on_thread_of(exchange& x, const std::function<void()>& work) {
  mailbox<bool> done;
  boost::asio::post(x.context(), [&] {
    work();
    done.put(true);
  });
  done.take();
}

inline constexpr std::string_view simple_get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

} // namespace switchyard::http::test
