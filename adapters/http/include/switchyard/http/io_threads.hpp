#pragma once

#include <boost/asio/io_context.hpp>

#include <atomic>
#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

namespace switchyard::http {

/// One io_context per thread: what begins on a thread stays on it, so connections, parsers and timers need no locks.
/// Thread-safe but for `start` and `stop`, which belong to one owner.
class io_threads {
public:
  /// Makes `count` contexts (at least 1); no thread runs yet.
  explicit io_threads(std::size_t count);
  ~io_threads(); ///< stops and joins

  void start();
  /// Stops all contexts and joins their threads. Not from one of the threads themselves.
  void stop();

  std::size_t size() const noexcept { return contexts_.size(); }
  boost::asio::io_context& at(std::size_t i) noexcept { return *contexts_[i]; }

  /// The context of the calling thread, or null when it is none of these threads.
  boost::asio::io_context* current() noexcept;
  /// The index of the calling thread, or `size()`.
  std::size_t current_index() const noexcept;

  /// The calling thread's context, or else the next one in turn.
  boost::asio::io_context& pick() noexcept;
  std::size_t pick_index() noexcept;

private:
  using work_guard = boost::asio::executor_work_guard<boost::asio::io_context::executor_type>;
  std::vector<std::unique_ptr<boost::asio::io_context>> contexts_;
  std::vector<work_guard> guards_;
  std::vector<std::thread> threads_;
  std::atomic<std::size_t> next_{0};
};

} // namespace switchyard::http
