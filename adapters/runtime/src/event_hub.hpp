#pragma once

#include "switchyard/actors/services.hpp"
#include "switchyard/engine/events.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace switchyard {

class queued_observer;

/// Passes events on to its observers. Costs one atomic read while there is none. Thread-safe.
class event_hub : public event_sink, public std::enable_shared_from_this<event_hub> {
public:
  /// `owner` is the core whose threads those of the observers are; `log` is told when one of them is too slow.
  event_hub(const void* owner, log_callback log) : owner_(owner), log_(std::move(log)) {}

  void on_event(const event& e) noexcept override;

  /// Adds an observer of the library's own, which never blocks: called on the thread where an event happens, for as
  /// long as the hub lives.
  void add_inline(std::shared_ptr<event_sink> observer);

  /// Adds an observer from outside, which may be slow or stuck: it has a queue of `core::observer_queue` events and a
  /// thread of its own, so it delays neither a call nor another observer [C15]. See `core::observe` for its end.
  std::shared_ptr<void> observe(std::shared_ptr<event_sink> observer);

  /// Ends all observers from outside once they have seen what is queued; one that has not by then is left alone.
  void close(std::chrono::steady_clock::time_point until);

private:
  using list = std::vector<std::shared_ptr<event_sink>>;
  void add(std::shared_ptr<event_sink> observer);
  void remove(const event_sink* observer);

  const void* owner_;
  log_callback log_;
  std::atomic<int> count_{0};
  std::atomic<std::shared_ptr<const list>> observers_{std::make_shared<const list>()};
  std::mutex changes_; ///< between those who add and remove
  std::vector<std::shared_ptr<queued_observer>> outside_;
  bool closed_ = false;
};

} // namespace switchyard
