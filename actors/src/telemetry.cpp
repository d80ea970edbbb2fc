#include "switchyard/actors/telemetry.hpp"

#include "switchyard/actors/health.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <string>
#include <utility>
#include <vector>

namespace switchyard {

telemetry_queue::~telemetry_queue() {
  while (pop()) {
  }
}

bool telemetry_queue::push(std::unique_ptr<const telemetry_record> record) {
  if (queue_.bounded_push(record.get())) {
    static_cast<void>(record.release()); // the queue owns it now
  } else {
    const std::lock_guard lock{dropped_mutex_};
    dropped_.rows += 1 + record->attempts.size();
    dropped_.usage.add(record->request);
    has_dropped_.store(true, std::memory_order_release);
  }
  return !awake_.exchange(true, std::memory_order_acq_rel);
}

telemetry_queue::dropped telemetry_queue::take_dropped() {
  if (!has_dropped_.exchange(false, std::memory_order_acquire))
    return {};
  const std::lock_guard lock{dropped_mutex_};
  return std::exchange(dropped_, {});
}

std::unique_ptr<const telemetry_record> telemetry_queue::pop() {
  const telemetry_record* next = nullptr;
  queue_.pop(next);
  return std::unique_ptr<const telemetry_record>{next};
}

namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::size_t batch_limit = 512;
// While records keep coming the writer looks by itself, so that each batch costs no message.
constexpr milliseconds drain_interval{20};
// How often a log that failed is asked to take the usage of lost rows while no rows come.
constexpr seconds usage_interval{1};

struct writer_state {
  static inline const char* name = "switchyard.telemetry_writer";

  telemetry_writer_actor::stateful_pointer<writer_state> self = nullptr;
  std::shared_ptr<telemetry_queue> queue;
  std::shared_ptr<telemetry_log> log;
  std::shared_ptr<actor_slot<health_actor>> health;
  std::shared_ptr<const services> shared;
  std::vector<std::shared_ptr<const telemetry_record>> batch;
  bool timer_set = false;
  bool lost = false; ///< rows since the last flush
  std::uint64_t lost_since_report = 0;
  std::string last_problem;
  std::optional<time_point> reported_at;
  std::optional<time_point> next_usage_at; ///< when a message is due that has the usage written

  // Writes what is in the queue; whether there was anything. Records that come meanwhile may wait for the next time, or
  // steady traffic on a slow disk would keep it here for ever.
  bool drain() {
    bool any = false;
    if (auto dropped = queue->take_dropped(); dropped.rows > 0) {
      report_loss(dropped.rows, "the queue is full");
      queue->unwritten().add(dropped.usage);
    }
    auto batches = telemetry_queue::capacity / batch_limit;
    do {
      batch.clear();
      while (batch.size() < batch_limit) {
        auto record = queue->pop();
        if (!record)
          break;
        batch.emplace_back(std::move(record));
      }
      if (!batch.empty()) {
        any = true;
        write();
      }
    } while (batch.size() == batch_limit && --batches > 0);
    batch.clear();
    return any;
  }

  void write() {
    auto scored = std::make_shared<std::vector<scored_attempt>>();
    std::uint64_t rows = 0;
    for (const auto& record : batch) {
      append_scored(*record, *scored);
      queue->unwritten().add(record->request);
      rows += 1 + record->attempts.size();
    }
    if (const auto written = append(); !written)
      report_loss(rows, written.error().message);
    if (const auto to = health->get(); to && !scored->empty())
      self->send(to, health_batch{std::move(scored)});
  }

  // Writes the batch and the usage. What could not be written of the usage is kept for the next time.
  store_result<void> append() {
    auto written = log ? log->append(batch, queue->unwritten()) : store_result<void>{};
    if (written)
      queue->unwritten().clear();
    return written;
  }

  // Writes the usage of rows that were lost, when no row follows with which it could go. The loss was reported.
  void append_usage() {
    if (!queue->unwritten().empty())
      static_cast<void>(append());
  }

  // Counted at once, logged once a minute [H7].
  void report_loss(std::uint64_t rows, const std::string& why) {
    lost = true;
    shared->emit(telemetry_dropped_event{rows});
    lost_since_report += rows;
    const auto now = self->clock().now();
    if (reported_at && now - *reported_at < minutes{1})
      return;
    reported_at = now;
    shared->log(log_level::error,
                "telemetry: " + std::to_string(std::exchange(lost_since_report, 0)) + " rows lost: " + why);
  }

  void on_drain(bool by_timer) {
    if (by_timer)
      timer_set = false;
    const bool any = drain();
    if (!any && !timer_set) {
      queue->rearm();
      drain(); // what came between the drain and the rearming woke nobody
      append_usage();
      come_back_for_usage();
      return;
    }
    if (!timer_set) {
      timer_set = true;
      self->delayed_send(self, drain_interval, drain_telemetry{true});
    }
  }

  // Not through the timer: while that is set, records in the queue would wait for it.
  void come_back_for_usage() {
    const auto now = self->clock().now();
    if (queue->unwritten().empty() || (next_usage_at && now < *next_usage_at))
      return;
    next_usage_at = now + usage_interval;
    self->delayed_send(self, usage_interval, drain_telemetry{});
  }

  done on_flush() {
    drain();
    append_usage();
    return {!std::exchange(lost, false)};
  }
};

telemetry_writer_actor::behavior_type writer_behavior(telemetry_writer_actor::stateful_pointer<writer_state> self,
                                                      std::shared_ptr<telemetry_queue> queue,
                                                      std::shared_ptr<telemetry_log> log,
                                                      std::shared_ptr<actor_slot<health_actor>> health,
                                                      std::shared_ptr<const services> shared) {
  auto& s = self->state;
  s.self = self;
  s.queue = std::move(queue);
  s.log = std::move(log);
  s.health = std::move(health);
  s.shared = std::move(shared);
  return {
      [&s](const drain_telemetry& d) { s.on_drain(d.by_timer); },
      [&s](const flush_telemetry&) { return s.on_flush(); },
  };
}

telemetry_reader_actor::behavior_type reader_behavior(telemetry_reader_actor::pointer,
                                                      std::shared_ptr<telemetry_log> log) {
  return {
      [log](const query_telemetry& q) -> telemetry_answer {
        if (!log)
          return {std::make_shared<const std::vector<telemetry_row>>(), {}};
        auto rows = log->query(q.query);
        if (!rows)
          return {nullptr, rows.error().message};
        return {std::make_shared<const std::vector<telemetry_row>>(std::move(*rows)), {}};
      },
      [log](const query_usage& q) -> usage_answer {
        if (!log)
          return {std::make_shared<const usage_sums>(), {}};
        auto sums = log->usage(q.since, q.until);
        if (!sums)
          return {nullptr, sums.error().message};
        return {std::make_shared<const usage_sums>(std::move(*sums)), {}};
      },
  };
}

} // namespace

telemetry_writer_actor spawn_telemetry_writer(caf::actor_system& system, std::shared_ptr<telemetry_queue> queue,
                                              std::shared_ptr<telemetry_log> log,
                                              std::shared_ptr<actor_slot<health_actor>> health,
                                              std::shared_ptr<const services> shared, bool detached) {
  if (detached)
    return system.spawn<caf::detached>(writer_behavior, std::move(queue), std::move(log), std::move(health),
                                       std::move(shared));
  return system.spawn(writer_behavior, std::move(queue), std::move(log), std::move(health), std::move(shared));
}

telemetry_reader_actor spawn_telemetry_reader(caf::actor_system& system, std::shared_ptr<telemetry_log> log,
                                              bool detached) {
  if (detached)
    return system.spawn<caf::detached>(reader_behavior, std::move(log));
  return system.spawn(reader_behavior, std::move(log));
}

} // namespace switchyard
