#pragma once

#include "switchyard/engine/circuit_cell.hpp"
#include "switchyard/runtime/core.hpp"
#include "switchyard/runtime/guarded_call.hpp"
#include "switchyard/runtime/permit.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/intrusive/list.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

namespace switchyard::detail {

class runtime_state;

/// One circuit as guards use it. Thread-safe. Belongs to its runtime_state and lives as long.
class guarded_circuit {
public:
  guarded_circuit(runtime_state& owner, std::shared_ptr<const core::circuit_access> access);

  circuit_cell& cell() const noexcept { return cell_; }

  /// A permit or why there is none; waits for the breaker where only that can tell.
  acquisition acquire() noexcept;
  /// Admission by the view alone; nothing when only the breaker can tell.
  std::optional<acquisition> try_now() noexcept;
  /// Asks the breaker. `on_answer` is called once, on an actor's thread, or at once when the runtime has stopped.
  void ask(std::function<void(acquisition)> on_answer);

  /// The same, for one who may hold on to it for longer than the runtime and all guards: a permit keeps alive what it
  /// needs until it calls `let_go`. To be called while somebody else keeps that.
  acquisition keeping(acquisition a) noexcept;
  void let_go() noexcept;

  /// Times a permit's call from now on and watches it for hanging.
  static void begin_timing(permit& p, watched_call& watched) noexcept;
  void stop_watching(permit& p) noexcept;

  /// Reports what the permit's call came to; the permit has been taken.
  void report(permit& p, outcome what, const std::optional<duration>& given,
              const std::optional<duration>& retry_after) noexcept;
  /// The same for a success of an ordinary permit that nobody timed: nearly all of them.
  void report_plain_success(const permit& p) noexcept;

  void count_refused_report() noexcept { refused_reports_.fetch_add(1, std::memory_order_relaxed); }
  std::uint64_t refused_reports() const noexcept { return refused_reports_.load(std::memory_order_relaxed); }

private:
  using watch_list = boost::intrusive::list<watched_call, boost::intrusive::constant_time_size<false>>;

  acquisition ask_and_wait() noexcept;
  acquisition grant(std::uint32_t generation, std::uint32_t probe) noexcept;
  circuit_refusal refused(std::optional<duration> wait) noexcept;
  circuit_refusal unavailable() noexcept;
  acquisition answer_for(const std::optional<admission_verdict>& verdict) noexcept;
  std::uint32_t hand_in(outcome_report r) noexcept;
  void follow_up(const report_receipt& receipt, outcome_report r) noexcept;
  void emit_call(outcome what, duration took) noexcept;
  void watch(permit& p, watched_call& watched, duration limit) noexcept;
  std::optional<duration> slow_after() const noexcept;
  void arm(time_point at);
  void look_for_hanging();

  runtime_state& owner_;
  std::shared_ptr<const core::circuit_access> access_;
  circuit_cell& cell_;
  const std::atomic<duration::rep>& slow_after_; ///< as in circuit_access
  std::atomic<std::uint64_t> refused_reports_{0};

  // Calls in flight that may hang, in the order in which they began; as all have the same limit, the first is due
  // first.
  std::mutex watch_mutex_;
  watch_list watched_;
  bool armed_ = false;
  std::optional<boost::asio::steady_timer> timer_; ///< touched on its I/O thread only
};

} // namespace switchyard::detail
