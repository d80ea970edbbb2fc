#pragma once

// The part of a circuit that many threads touch: the published view, which callers read, and the queue of
// outcome reports, which callers fill and the breaker actor drains. The breaker is the only writer of the view.
//
// Exact counting [C4] rests on one invariant. Every report takes a ticket; tickets are numbered in the order in which
// outcomes count. The breaker publishes, in one word, how many tickets it has counted (`settled`) and lower bounds of
// what a trip needs from there (trip_distance). So whoever sees fewer pending outcomes than a trip needs knows that
// none of them can have tripped the circuit, and is admitted without a message; otherwise the state is not yet known
// and he asks the breaker, who counts what is pending first. A report never waits: its consequence is visible to every
// later caller as soon as it has its ticket.
//
// Plain successes, nearly all of the traffic, leave nothing but their ticket. Every other report takes a place in the
// queue as well, and writes down its ticket there: the tickets between two of those are plain successes of the present
// generation, and the breaker counts them in one go, in their place in the order. The word from which tickets are taken
// holds an epoch, which is odd while the breaker publishes a new generation, so that a success of the old one cannot
// take a ticket of the new.
//
// Order of reads in `try_admit`: tickets, then settled/distance, then state. The breaker writes the state before
// settled/distance. So a caller that sees a ticket as settled also sees the state that it led to. The memory orders
// are argued where the words are written, in circuit_cell.cpp.
//
// When the queue is full, a report is still counted as pending, but travels in a message (`queued` false). Until the
// breaker has published that all such reports are counted, every further report travels so too, which keeps them
// in order, and callers ask, which keeps the breaker's mailbox no longer than there are calls in flight. A disabled
// circuit admits without asking, so there what does not fit is dropped: it may observe, but not for any price.
//
// What the breaker does on any message (a wake-up, a report that did not fit, somebody who asks, its timer):
//
//   do {
//     cell.begin_drain();
//     while (auto r = cell.pop(now)) circuit.report(*r, now);
//     cell.publish(circuit, now);
//   } while (cell.unfinished());
//
// and only then the message's own business: count its report and call `overflow_counted`, or `circuit.ask`; then
// publish once more and answer. Behind a ticket that is taken and not yet written may stand outcomes that were
// answered long ago, so neither may go before them. Rather than spin, the breaker may send the message to itself.

#include "switchyard/engine/circuit.hpp"
#include "switchyard/engine/circuit_id.hpp"
#include "switchyard/engine/retry_budget.hpp"
#include "switchyard/engine/time.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace switchyard {

/// The fast answer to one who wants to call.
struct fast_admission {
  enum class kind : std::uint8_t {
    admitted, ///< go; report with `generation`
    refused,  ///< by an open, full half-open or forced-open circuit
    ask,      ///< only the breaker can tell: a probe may be due, or pending outcomes may have tripped it
  } what = kind::ask;
  std::uint32_t generation = 0;
  std::optional<duration> wait; ///< when refused and known [C6]
};

/// What became of a report.
struct report_receipt {
  bool wake = false;        ///< the caller must now send the breaker its wake-up message
  bool queued = true;       ///< false: the queue is full; the caller must send the report itself in a message, with
                            ///< `ticket` filled in (it is already counted as pending)
  std::uint32_t ticket = 0; ///< names this report, for a later `amends`
};

class circuit_cell {
public:
  static constexpr std::uint32_t max_capacity = 64;

  /// `window` says whether every success must be counted (a window is configured). `capacity` bounds the queue
  /// of reports; it is rounded up to a power of two, at most `max_capacity`. Until the first `publish` the cell shows a
  /// new closed circuit of generation 1.
  circuit_cell(circuit_id id, bool window, std::uint32_t capacity = 64);
  ~circuit_cell();
  circuit_cell(const circuit_cell&) = delete;
  circuit_cell& operator=(const circuit_cell&) = delete;

  const std::string& id() const noexcept { return name_; }
  const circuit_id& parts() const noexcept { return id_; }

  // ---- any thread ------------------------------------------------------------------------------------------

  /// Admission without a message, where the view suffices. Lock-free.
  fast_admission try_admit(time_point now) const noexcept;

  /// Whether a call of that generation may still be retried: the circuit has not opened meanwhile [R3].
  bool still_admits(std::uint32_t generation) const noexcept;

  /// Hands in an outcome of an ordinary permit or of a probe. Never waits. Lock-free but for one rule: the
  /// breaker counts in ticket order.
  report_receipt report(const outcome_report& r) noexcept;

  /// `report` of a plain success (no probe, no amendment) of that generation, for the shortest way: nearly all
  /// outcomes.
  report_receipt report_success(std::uint32_t generation) noexcept;

  /// Counts a refusal [C11].
  void count_refusal() noexcept { refusals_.fetch_add(1, std::memory_order_relaxed); }
  std::uint64_t refusals() const noexcept { return refusals_.load(std::memory_order_relaxed); }

  circuit_state state() const noexcept;
  circuit_mode mode() const noexcept;
  std::uint32_t generation() const noexcept;

  // ---- the breaker only ------------------------------------------------------------------------------------

  /// Begins a drain of what was handed in before; from here on a new report asks for a wake-up again.
  void begin_drain() noexcept;

  /// The next report of this drain in order, if it is completely written: one of the queue, or a run of plain successes
  /// (`repeat`), which are taken to have ended `now`.
  std::optional<outcome_report> pop(time_point now) noexcept;

  /// Asked after `publish`: whether something was handed in that the publication did not count and that must be counted
  /// soon, be it written or not yet; then drain again, because its reporter may rely on that and not wake anybody.
  bool unfinished() const noexcept;

  /// The report with that ticket, which came by message because the queue was full, was counted; call it before
  /// `publish`.
  void overflow_counted(std::uint32_t ticket) noexcept;

  /// Publishes what the circuit is now, all popped reports counted.
  void publish(const circuit& c, time_point now) noexcept;

  /// While set, plain successes do not wake the breaker unless they could trip the circuit: it has a timer pending that
  /// will drain them, so that steady traffic costs few messages. Whoever unsets it drains afterwards.
  void set_lazy(bool on) noexcept { lazy_.store(on, std::memory_order_seq_cst); }

  /// The successor of a dead breaker calls this first [C14]: reports whose messages died with it are given up, or
  /// they would be pending for ever. Those of them that arrive nevertheless count no more.
  void take_over() noexcept;

private:
  struct slot;

  enum class handling : std::uint8_t { drop, ticket_only, queue };
  handling handling_of(const outcome_report& r, std::uint64_t tickets) const noexcept;
  report_receipt overflow(const outcome_report& r, std::uint32_t of_incarnation) noexcept;
  bool must_wake(bool plain, std::uint64_t taken) noexcept;
  void give_back_overflow(std::uint32_t count) noexcept;
  std::uint64_t bump_epoch() noexcept;
  void skip_stale(std::uint32_t until) noexcept;

  // Read by all, written by none.
  circuit_id id_;
  std::string name_;
  std::uint32_t capacity_;
  std::unique_ptr<slot[]> slots_;

  // Written by reporters. tickets_: tickets taken, places of the queue taken, epoch, and reports that travel in
  // messages and are not yet published as counted.
  alignas(64) std::atomic<std::uint64_t> tickets_{0};
  std::atomic<bool> wake_{false}; ///< a wake-up is on its way and its drain has not begun
  std::atomic<std::uint32_t> overflow_names_{0};

  // The published view: written by the breaker. progress_: tickets and places settled, and the distances.
  alignas(64) std::atomic<std::uint64_t> progress_;
  std::atomic<std::uint64_t> admission_;
  std::atomic<std::int64_t> valid_until_; ///< of the distances; nanoseconds, as is the next
  std::atomic<std::int64_t> next_probe_;  ///< of an open circuit; the largest value when unknown
  std::atomic<bool> lazy_{false};

  // The breaker's own.
  alignas(64) std::uint32_t next_ticket_ = 0; ///< the next to count
  std::uint32_t next_place_ = 0;              ///< the next place of the queue to read
  std::uint64_t drain_to_ = 0;                ///< the tickets word when the drain began
  std::uint32_t stale_to_ = 0;                ///< plain successes with tickets before this are of an earlier generation
  std::uint32_t overflow_counted_ = 0;

  // Counted by callers, apart from the admission.
  alignas(64) std::atomic<std::uint64_t> refusals_{0};

public:
  retry_budget retries; ///< of all calls of this circuit [R3]; any thread
};

} // namespace switchyard
