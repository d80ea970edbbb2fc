#pragma once

#include "background_queue.hpp"

#include "switchyard/actors/services.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace switchyard::detail {

/// The log of the embedding program, behind a queue of `core::log_queue` lines and with a thread of its own: a log that
/// is stuck delays nobody [C15]. Without a callback there is no thread. Thread-safe.
class log_relay {
public:
  /// The thread is one of `owner`'s.
  log_relay(const void* owner, log_callback log);
  log_relay(const log_relay&) = delete;
  log_relay& operator=(const log_relay&) = delete;
  ~log_relay(); ///< as `close`, within `core::observer_patience`

  /// For those who log. Never empty, never waits, may outlive this object: then lines go nowhere.
  const log_callback& callback() const noexcept { return callback_; }

  /// Waits until the log has been given what is queued, no longer than `until`.
  void close(std::chrono::steady_clock::time_point until);

private:
  struct line {
    log_level level;
    std::string text;
  };

  std::shared_ptr<background_queue<line>> lines_; ///< null without a log
  log_callback callback_;
};

} // namespace switchyard::detail
