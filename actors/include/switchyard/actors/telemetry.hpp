#pragma once

#include "switchyard/actors/actor_slot.hpp"
#include "switchyard/actors/interfaces.hpp"
#include "switchyard/actors/services.hpp"
#include "switchyard/actors/stores.hpp"

#include <boost/lockfree/queue.hpp>
#include <caf/actor_system.hpp>

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>

namespace switchyard {

/// The bounded queue in front of the log. `push` is lock-free and never waits for the log: a full queue drops the
/// record, and counts it under a lock that is held for a moment [H7]. Thread-safe.
class telemetry_queue {
public:
  static constexpr std::size_t capacity = 16384;

  telemetry_queue() = default;
  ~telemetry_queue();
  telemetry_queue(const telemetry_queue&) = delete;
  telemetry_queue& operator=(const telemetry_queue&) = delete;

  /// Adds a record. Returns whether the writer must be woken.
  bool push(std::unique_ptr<const telemetry_record> record);

  /// The writer only: takes the next record, null when empty.
  std::unique_ptr<const telemetry_record> pop();
  /// The writer only: from here on `push` asks for a wake-up again.
  void rearm() noexcept { awake_.exchange(false, std::memory_order_acq_rel); }
  /// What was dropped since the last call: rows, and the usage in them, which is not lost with the rows [U2].
  struct dropped {
    std::uint64_t rows = 0;
    usage_sums usage;
  };
  dropped take_dropped();
  /// The writer only: usage that is not in the log yet, also that of rows that were lost. It is here so that it
  /// outlives a writer that dies [U2].
  usage_sums& unwritten() noexcept { return unwritten_; }

private:
  boost::lockfree::queue<const telemetry_record*, boost::lockfree::capacity<capacity>> queue_;
  std::atomic<bool> awake_{false};
  std::atomic<bool> has_dropped_{false};
  std::mutex dropped_mutex_; ///< only where the queue is full
  dropped dropped_;
  usage_sums unwritten_;
};

/// Starts the writer. `log` may be null: nothing is written, health is fed all the same. `detached` gives it a thread
/// of its own; false only under a test coordinator. A successor of a dead writer, once it is where it is looked up,
/// must be sent drain_telemetry: what was pushed meanwhile woke nobody.
telemetry_writer_actor spawn_telemetry_writer(caf::actor_system& system, std::shared_ptr<telemetry_queue> queue,
                                              std::shared_ptr<telemetry_log> log,
                                              std::shared_ptr<actor_slot<health_actor>> health,
                                              std::shared_ptr<const services> services, bool detached = true);

/// Starts the reader; `log` may be null.
telemetry_reader_actor spawn_telemetry_reader(caf::actor_system& system, std::shared_ptr<telemetry_log> log,
                                              bool detached = true);

} // namespace switchyard
