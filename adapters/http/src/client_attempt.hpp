#pragma once

// One attempt: what the caller holds, and what its connection works on. Owns nothing that is bound to an io_context, so
// a handle may outlive the I/O threads.

#include "client_stream.hpp"

#include "switchyard/actors/provider.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace switchyard::http {

class client_connection;
class client_core;

class client_attempt final : public attempt_handle, public std::enable_shared_from_this<client_attempt> {
public:
  /// Counts as active from here until it ends. `thread` is the index of the I/O thread that runs it.
  client_attempt(std::shared_ptr<client_core> core, std::size_t thread, time_point now, provider_request request,
                 std::shared_ptr<attempt_listener> listener);
  ~client_attempt() override;

  void cancel() noexcept override;
  bool responded() const noexcept override { return responded_.load(std::memory_order_relaxed); }
  bool sent() const noexcept override { return sent_.load(std::memory_order_relaxed); }
  void stream_to(std::shared_ptr<stream_sink> sink) noexcept override;
  stream_progress progress() const noexcept override;

  const provider_request& request() const noexcept { return request_; }
  client_core& core() const noexcept { return *core_; }
  std::size_t thread() const noexcept { return thread_; }

  // ---- its I/O thread only -----------------------------------------------------------------------------------

  /// Of the whole attempt; of a stream, to its first content, then of the whole stream if that has one.
  time_point limit() const noexcept { return std::min(limit_, content_limit_); }
  /// What it is when `limit` has passed.
  std::pair<transport_error, std::string> limit_passed() const;
  /// The request is written: from here on the first content of a stream is waited for.
  void awaits_answer(time_point now) noexcept;

  bool ended() const noexcept { return !under_way_; }
  provider_result& result() noexcept { return result_; }
  void set_connection(client_connection* c) noexcept { connection_ = c; }
  void bytes_came() noexcept;
  void set_sent(bool sent) noexcept {
    result_.sent = sent;
    sent_.store(sent, std::memory_order_relaxed);
  }

  /// Asked once the head of the answer is there: whether it flows.
  bool flows();
  /// The next bytes of a body that flows are in the result; `last`: it is whole. May call the listener and the sink,
  /// and so end everything.
  void on_body(bool last);
  bool stream_failed() const noexcept;
  bool stream_ended() const noexcept { return stream_ && stream_->reader().where() == stream_reader::state::ended; }
  bool stream_full() const noexcept { return stream_ && stream_->full(); }

  /// The answer is whole, or what has flowed has failed: lets the inspector see it and tells the listener, as soon as
  /// everything that flowed was taken.
  void finish() noexcept;
  /// Tells the listener of a failure, as soon as everything that flowed was taken.
  void finish(transport_error error, std::string detail) noexcept;
  /// Ends without telling anybody: cancelled, or the I/O threads are gone.
  void abandon() noexcept;

private:
  bool end() noexcept;
  void cancel_here() noexcept;
  void conclude() noexcept;
  void conclude_when_drained() noexcept;
  void drain_timed_out() noexcept;
  void begin_content();
  void pump() noexcept;
  void sink_failed() noexcept;
  void piece_taken(std::uint32_t piece, bool more) noexcept;
  template <class F>
  void on_its_thread(F work) noexcept;

  const std::shared_ptr<client_core> core_;
  boost::asio::io_context& context_; ///< alive as long as the attempt is under way
  const std::size_t thread_;
  const time_point began_;
  time_point limit_;
  time_point content_limit_ = time_point::max();
  provider_request request_;
  std::shared_ptr<attempt_listener> listener_;
  provider_result result_;
  client_connection* connection_ = nullptr;
  std::unique_ptr<client_stream> stream_; ///< of an answer that flows
  bool head_seen_ = false;
  bool finished_ = false; ///< the result is there; what has flowed may not be taken yet
  bool pumping_ = false;
  std::weak_ptr<boost::asio::steady_timer> drain_timer_;
  std::uint32_t piece_ = 0; ///< number of the piece that is at the sink
  std::atomic<bool> responded_{false};
  std::atomic<bool> sent_{false};
  mutable std::mutex mutex_; ///< makes "under way, so post" one step for foreign threads
  bool under_way_ = true;    ///< written by the I/O thread under the mutex
  bool cancelled_ = false;   ///< under the mutex
  stream_progress progress_; ///< under the mutex
};

/// Holds an attempt for its I/O thread: when that goes away with its handlers, the attempt is abandoned.
class attempt_ref {
public:
  attempt_ref() = default;
  explicit attempt_ref(std::shared_ptr<client_attempt> a) noexcept : attempt_(std::move(a)) {}
  attempt_ref(attempt_ref&& other) noexcept = default;
  attempt_ref& operator=(attempt_ref&& other) noexcept {
    std::swap(attempt_, other.attempt_);
    return *this;
  }
  ~attempt_ref() {
    if (attempt_)
      attempt_->abandon();
  }
  client_attempt* operator->() const noexcept { return attempt_.get(); }
  explicit operator bool() const noexcept { return attempt_ != nullptr; }
  /// Takes the attempt out, so that it can be finished.
  std::shared_ptr<client_attempt> release() noexcept { return std::move(attempt_); }

private:
  std::shared_ptr<client_attempt> attempt_;
};

} // namespace switchyard::http
