#pragma once

#include "thread_owner.hpp"

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace switchyard::detail {

/// What became of an item.
enum class push_result : std::uint8_t {
  queued,
  first_dropped, ///< there was no room, as there has always been before
  dropped,       ///< there was no room
  closed,        ///< nobody takes anything any more
};

/// Hands items to one who may be slow or stuck, on a thread of its own, so that they who have them never wait [C15]. At
/// most `capacity` wait; without room the newest is dropped and counted. Thread-safe.
template <class Item>
class background_queue {
public:
  using time_point = std::chrono::steady_clock::time_point;

  /// What is to become of those who wait when it closes.
  enum class ending : std::uint8_t { deliver, discard };

  /// `consume(Item&, dropped)` is called for one item after the other; `dropped` is how many there was no room for
  /// since the last call. What it throws is ignored. The thread is one of `owner`'s (thread_owner.hpp).
  template <class Consumer>
  background_queue(const void* owner, std::size_t capacity, Consumer consume)
      : shared_(std::make_shared<shared_part>()), capacity_(capacity) {
    thread_ = std::thread{[shared = shared_, owner, consumer = std::optional<Consumer>{std::move(consume)}]() mutable {
      thread_owner = owner;
      while (take_one(*shared, *consumer)) {
      }
      consumer.reset(); // before the end is told
      std::lock_guard lock{shared->mutex};
      shared->ended = true;
      shared->changed.notify_all();
    }};
  }
  background_queue(const background_queue&) = delete;
  background_queue& operator=(const background_queue&) = delete;
  ~background_queue() { close(ending::discard, {}); }

  push_result push(Item item) {
    std::lock_guard lock{shared_->mutex};
    if (shared_->closing)
      return push_result::closed;
    if (shared_->items.size() >= capacity_) {
      ++shared_->dropped;
      return shared_->all_dropped++ == 0 ? push_result::first_dropped : push_result::dropped;
    }
    shared_->items.push_back(std::move(item));
    if (shared_->items.size() == 1)
      shared_->changed.notify_all();
    return push_result::queued;
  }

  /// Takes nothing more, and waits until the thread has ended, no longer than `until`: a consumer that is stuck for
  /// longer is left alone with its thread, which ends when it returns, and what still waits is discarded. Does not wait
  /// on the queue's own thread. May be called more than once; `discard` prevails.
  void close(ending how, time_point until) {
    std::deque<Item> discarded; // destroyed outside the lock
    std::unique_lock lock{shared_->mutex};
    shared_->closing = true;
    if (how == ending::discard)
      discarded.swap(shared_->items);
    shared_->changed.notify_all();
    const bool inside = thread_.get_id() == std::this_thread::get_id();
    if (!inside)
      shared_->changed.wait_until(lock, until, [this] { return shared_->ended; });
    auto thread = std::exchange(thread_, {});
    const bool over = shared_->ended;
    if (!over && !inside)
      discarded.swap(shared_->items);
    lock.unlock();
    if (!thread.joinable())
      return;
    if (over)
      thread.join();
    else
      thread.detach();
  }

  /// How many there was no room for, in all.
  std::uint64_t dropped() const {
    std::lock_guard lock{shared_->mutex};
    return shared_->all_dropped;
  }

private:
  // What the thread may need for longer than this object lives.
  struct shared_part {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<Item> items;
    std::uint64_t dropped = 0; ///< since the last call of the consumer
    std::uint64_t all_dropped = 0;
    bool closing = false;
    bool ended = false;
  };

  template <class Consumer>
  static bool take_one(shared_part& s, Consumer& consume) {
    std::unique_lock lock{s.mutex};
    s.changed.wait(lock, [&] { return s.closing || !s.items.empty(); });
    if (s.items.empty())
      return false;
    auto item = std::move(s.items.front());
    s.items.pop_front();
    const auto dropped = std::exchange(s.dropped, 0);
    lock.unlock();
    try {
      consume(item, dropped);
    } catch (...) { // NOLINT(bugprone-empty-catch): who only listens must not end the program [C15]
    }
    return true;
  }

  std::shared_ptr<shared_part> shared_;
  const std::size_t capacity_;
  std::thread thread_; ///< under the mutex; moved out by the first who closes
};

} // namespace switchyard::detail
