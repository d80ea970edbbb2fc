#include "switchyard/engine/circuit_cell.hpp"

#include "circuit_words.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace switchyard {

using namespace circuit_words;

// Memory orders. Let S be the breaker's stores of a publication, in their order: (progress with distance 0), next
// probe, admission, valid-until, progress; let R be a caller's loads: tickets, progress, admission, valid-until.
//
// 1. A caller sees every report that was handed in before it began: the ticket is taken by a read-modify-write of
//    `tickets_`, and whatever made "before" true (a lock, a message, the same thread) makes that write visible.
// 2. A caller that reads a progress which counts a ticket reads the admission that it led to, or a later one:
//    progress is stored last with release and loaded before admission with acquire.
// 3. A distance is never used with a generation or a valid-until it was not published with. Where either changes,
//    progress is first stored with distance 0, under which nobody passes with anything pending. A caller that read
//    the progress of before that store began before the new generation could be seen by anybody, so no report of
//    the new generation can have been handed in before it began: what it admits, it admits rightly as of its
//    beginning. Valid-until needs more, as a caller's `now` may be later: it loads progress a second time, and if
//    that has changed it asks.
// 4. A place of the queue is reused only by a reporter that read, with acquire, a progress published after the breaker
//    emptied it.
// 5. No report is left lying. Reporter: take ticket, then load progress, lazy, wake. Breaker: store wake (false) or
//    lazy (false), pop, store progress, then load tickets (`unfinished`). All are seq_cst, so either the reporter
//    sees what the breaker stored, and wakes it if it must, or the breaker sees the ticket, and drains again.
// 6. A plain success leaves no generation, so it must take its ticket in the epoch of its own. The epoch is made odd
//    before the admission of a new generation is stored, and even after. A reporter loads tickets, then the admission;
//    if the epoch it loaded was even and is still there when it takes its ticket, then the admission it compared with
//    was the present one, before and after. What took a ticket before the epoch became odd is of the old generation
//    and is dropped (`stale_to_`). In an odd epoch a success takes a place in the queue, with its generation.

/// A queued report in 32 bytes.
struct circuit_cell::slot {
  std::atomic<std::uint32_t> written{0}; ///< ticket plus 1 once the rest is written; 0: empty
  std::uint32_t generation;
  std::uint32_t call; ///< the probe's id or `amends`: a probe's lease rules it, so it amends nothing
  outcome what;
  bool is_probe;
  std::int64_t at;
  std::int64_t retry_after; ///< negative: none

  void write(const outcome_report& r) noexcept {
    generation = r.generation;
    is_probe = r.probe != 0;
    call = is_probe ? r.probe : r.amends;
    what = r.what;
    at = nanoseconds(r.at);
    retry_after = r.retry_after ? r.retry_after->count() : -1;
  }

  void read(outcome_report& r) const noexcept { // in place: to copy what was just written field by field is slow
    r.generation = generation;
    r.what = what;
    (is_probe ? r.probe : r.amends) = call;
    r.at = time_point{duration{at}};
    if (retry_after >= 0)
      r.retry_after = duration{retry_after};
  }
};

circuit_cell::circuit_cell(circuit_id id, bool window, std::uint32_t capacity)
    : id_(std::move(id)),
      name_(id_.str()),
      capacity_(std::bit_ceil(std::clamp(capacity, 2u, max_capacity))),
      slots_(std::make_unique<slot[]>(capacity_)),
      progress_(any_distance::set(0, 1)),
      admission_(view{.success_is_idle = !window}.pack()),
      valid_until_(unknown_time),
      next_probe_(unknown_time) {
  static_assert(sizeof(slot) == 32, "the memory of a circuit is bounded by this");
}

circuit_cell::~circuit_cell() = default;

// ---- any thread ----------------------------------------------------------------------------------------------------

fast_admission circuit_cell::try_admit(time_point now) const noexcept {
  using kind = fast_admission::kind;
  const auto tickets = tickets_.load(std::memory_order_acquire);
  const auto progress = progress_.load(std::memory_order_acquire);
  const auto v = view::unpack(admission_.load(std::memory_order_acquire));

  if (v.mode == circuit_mode::forced_open)
    return {kind::refused, v.generation, {}};
  if (v.mode == circuit_mode::disabled)
    return {kind::admitted, v.generation, {}};
  switch (v.state) {
  case circuit_state::closed: {
    if (overflowed::get(tickets) != 0) // some travel in messages: let the breaker catch up
      return {kind::ask, v.generation, {}};
    if (pending_tickets(tickets, progress) <= 0)
      return {kind::admitted, v.generation, {}};
    const bool known = harmless(tickets, progress) && nanoseconds(now) < valid_until_.load(std::memory_order_acquire) &&
                       progress_.load(std::memory_order_relaxed) == progress;
    return {known ? kind::admitted : kind::ask, v.generation, {}};
  }
  case circuit_state::open: {
    const auto next = next_probe_.load(std::memory_order_relaxed);
    if (next == unknown_time) // a canary runs
      return {kind::refused, v.generation, {}};
    if (nanoseconds(now) < next)
      return {kind::refused, v.generation, duration{next - nanoseconds(now)}};
    return {kind::ask, v.generation, {}};
  }
  case circuit_state::half_open: {
    // A probe's outcome that is handed in and not yet counted may close the circuit, or free the slot: whoever begins
    // after it was answered is not refused for it [C4, C8].
    const bool pending = taken_places::get(tickets) != settled_places::get(progress) || overflowed::get(tickets) != 0;
    return {v.probe_available || pending ? kind::ask : kind::refused, v.generation, {}};
  }
  }
  return {};
}

bool circuit_cell::still_admits(std::uint32_t generation) const noexcept {
  const auto v = view::unpack(admission_.load(std::memory_order_acquire));
  if (v.mode != circuit_mode::automatic)
    return v.mode == circuit_mode::disabled;
  return v.generation == generation;
}

/// What has to be done with a report, as of the tickets word that was loaded before. It is dropped when the circuit
/// would certainly ignore it. Loads in the order of try_admit: if nothing is pending, the view is that of every report
/// handed in before this one.
circuit_cell::handling circuit_cell::handling_of(const outcome_report& r, std::uint64_t tickets) const noexcept {
  if (r.probe != 0)
    return handling::queue;
  if (r.amends == 0 && (r.what == outcome::neutral || r.what == outcome::cancelled))
    return handling::drop; // [C3]
  const auto progress = progress_.load(std::memory_order_acquire);
  const auto v = view::unpack(admission_.load(std::memory_order_acquire));
  if (newer(v.generation, r.generation) > 0)
    return handling::drop; // from an earlier generation [C9]
  if (v.generation != r.generation)
    return handling::queue;
  if (v.state != circuit_state::closed)
    return handling::drop; // a generation has one state; an ordinary permit of this one is of a disabled circuit
  if (!is_plain_success(r) || epoch::get(tickets) % 2 != 0)
    return handling::queue;
  if (v.success_is_idle && overflowed::get(tickets) == 0 && pending_tickets(tickets, progress) <= 0)
    return handling::drop;
  return handling::ticket_only;
}

report_receipt circuit_cell::report(const outcome_report& r) noexcept {
  auto word = tickets_.load(std::memory_order_acquire);
  for (;;) {
    const auto how = handling_of(r, word);
    if (how == handling::drop)
      return {};
    const auto ticket = taken_tickets::get(word);
    const auto place = taken_places::get(word);
    const auto settled = settled_places::get(progress_.load(std::memory_order_acquire));
    const bool full =
        how == handling::queue && taken_places::ahead(place, settled) >= static_cast<std::int32_t>(capacity_);
    const bool fits = overflowed::get(word) == 0 && !full;
    if (!fits && r.probe == 0 && mode() == circuit_mode::disabled)
      return {};
    auto taken = word;
    if (fits) {
      taken = taken_tickets::set(taken, ticket + 1);
      if (how == handling::queue)
        taken = taken_places::set(taken, place + 1);
    } else {
      taken = overflowed::limited(taken, overflowed::get(word) + std::uint64_t{1});
    }
    if (!tickets_.compare_exchange_weak(word, taken, std::memory_order_seq_cst, std::memory_order_acquire))
      continue;
    if (!fits)
      return overflow(r, incarnation::get(taken));
    if (how == handling::queue) {
      auto& s = slots_[place & (capacity_ - 1)];
      s.write(r);
      s.written.store(ticket + 1, std::memory_order_release);
    }
    return {must_wake(how == handling::ticket_only, taken), true, ticket};
  }
}

// What `report` does with it in the states in which it mostly comes; the loads and their order are the same.
report_receipt circuit_cell::report_success(std::uint32_t generation) noexcept {
  auto word = tickets_.load(std::memory_order_acquire);
  for (;;) {
    const auto progress = progress_.load(std::memory_order_acquire);
    const auto v = view::unpack(admission_.load(std::memory_order_acquire));
    if (v.generation != generation || v.state != circuit_state::closed || overflowed::get(word) != 0 ||
        epoch::get(word) % 2 != 0) {
      outcome_report r;
      r.generation = generation;
      r.what = outcome::success;
      return report(r);
    }
    if (v.success_is_idle && pending_tickets(word, progress) <= 0)
      return {};
    const auto ticket = taken_tickets::get(word);
    const auto taken = taken_tickets::set(word, ticket + 1);
    if (tickets_.compare_exchange_weak(word, taken, std::memory_order_seq_cst, std::memory_order_acquire))
      return {must_wake(true, taken), true, ticket};
  }
}

report_receipt circuit_cell::overflow(const outcome_report& r, std::uint32_t of_incarnation) noexcept {
  report_receipt receipt{.wake = false, .queued = false, .ticket = overflow_name | of_incarnation << incarnation_shift};
  if (r.what == outcome::hanging) // only these are amended later
    receipt.ticket |= overflow_names_.fetch_add(1, std::memory_order_relaxed) & name_mask;
  return receipt;
}

/// Whether the reporter that has just taken a ticket, which made the word `taken`, must wake the breaker.
bool circuit_cell::must_wake(bool plain, std::uint64_t taken) noexcept {
  const auto progress = progress_.load(std::memory_order_seq_cst);
  const auto pending = pending_tickets(taken, progress); // up to and with this one
  if (pending <= 0)
    return false; // counted already
  const bool first = pending == 1 && !lazy_.load(std::memory_order_seq_cst);
  if (plain && !first && harmless(taken, progress))
    return false; // an earlier one has woken the breaker, or its timer will
  return !wake_.load(std::memory_order_seq_cst) && !wake_.exchange(true, std::memory_order_seq_cst);
}

circuit_state circuit_cell::state() const noexcept {
  return view::unpack(admission_.load(std::memory_order_acquire)).state;
}

circuit_mode circuit_cell::mode() const noexcept {
  return view::unpack(admission_.load(std::memory_order_acquire)).mode;
}

std::uint32_t circuit_cell::generation() const noexcept {
  return view::unpack(admission_.load(std::memory_order_acquire)).generation;
}

// ---- the breaker only ----------------------------------------------------------------------------------------------

void circuit_cell::begin_drain() noexcept {
  wake_.exchange(false, std::memory_order_seq_cst);
  drain_to_ = tickets_.load(std::memory_order_seq_cst);
}

/// Passes over the plain successes that an earlier generation left, as far as `until`: they change nothing [C9].
void circuit_cell::skip_stale(std::uint32_t until) noexcept {
  if (taken_tickets::ahead(stale_to_, next_ticket_) <= 0)
    stale_to_ = next_ticket_; // kept near, so that it never seems to lie ahead again
  else
    next_ticket_ = taken_tickets::ahead(stale_to_, until) > 0 ? until : stale_to_;
}

std::optional<outcome_report> circuit_cell::pop(time_point now) noexcept {
  std::optional<outcome_report> r;
  const bool queued = next_place_ != taken_places::get(drain_to_);
  auto& s = slots_[next_place_ & (capacity_ - 1)];
  const auto written = queued ? s.written.load(std::memory_order_acquire) : 0;
  if (queued && written == 0)
    return r; // its ticket is not known yet, nor is how many successes stand before it
  const auto until = queued ? written - 1 : taken_tickets::get(drain_to_);
  skip_stale(until);
  if (const auto run = taken_tickets::ahead(until, next_ticket_); run > 0) {
    next_ticket_ = until;
    r.emplace();
    r->generation = generation();
    r->what = outcome::success;
    r->at = now;
    r->repeat = static_cast<std::uint32_t>(run);
    return r;
  }
  if (!queued)
    return r;
  r.emplace();
  s.read(*r);
  r->ticket = until;
  s.written.store(0, std::memory_order_relaxed); // the place is free once a progress says so
  next_ticket_ = (until + 1) & static_cast<std::uint32_t>(taken_tickets::max);
  next_place_ = (next_place_ + 1) & static_cast<std::uint32_t>(taken_places::max);
  return r;
}

bool circuit_cell::unfinished() const noexcept {
  const auto tickets = tickets_.load(std::memory_order_seq_cst);
  if (taken_places::get(tickets) != next_place_)
    return true;
  if (taken_tickets::get(tickets) == next_ticket_)
    return false;
  return !lazy_.load(std::memory_order_relaxed) || !harmless(tickets, progress_.load(std::memory_order_relaxed));
}

void circuit_cell::publish(const circuit& c, time_point now) noexcept {
  const auto distance = c.distance(now);
  const auto valid_until = nanoseconds(distance.valid_until);
  const auto before = progress_.load(std::memory_order_relaxed); // only this thread writes the view
  const bool new_generation = c.generation() != generation();
  if (new_generation || valid_until != valid_until_.load(std::memory_order_relaxed))
    progress_.store(failure_distance::set(any_distance::set(before, 0), 0), std::memory_order_release);
  if (new_generation)
    stale_to_ = taken_tickets::get(bump_epoch()); // odd
  if (c.state() == circuit_state::open) {
    const auto next = c.next_probe_at();
    next_probe_.store(next ? nanoseconds(*next) : unknown_time, std::memory_order_relaxed);
  }
  const view v{c.state(), c.mode(), c.probe_available(), c.success_is_idle(), c.generation()};
  admission_.store(v.pack(), std::memory_order_release);
  valid_until_.store(valid_until, std::memory_order_release);
  if (new_generation)
    bump_epoch(); // even
  std::uint64_t progress = 0;
  progress = settled_tickets::set(progress, next_ticket_);
  progress = settled_places::set(progress, next_place_);
  progress = any_distance::limited(progress, distance.outcomes);
  progress = failure_distance::limited(progress, distance.failures);
  progress_.store(progress, std::memory_order_seq_cst);
  if (overflow_counted_ != 0)
    give_back_overflow(std::exchange(overflow_counted_, 0));
}

/// Returns the word as it was before.
std::uint64_t circuit_cell::bump_epoch() noexcept {
  auto word = tickets_.load(std::memory_order_relaxed);
  while (!tickets_.compare_exchange_weak(word, epoch::set(word, epoch::get(word) + std::uint64_t{1}),
                                         std::memory_order_seq_cst, std::memory_order_relaxed)) {
  }
  return word;
}

void circuit_cell::overflow_counted(std::uint32_t ticket) noexcept {
  if ((ticket & ~overflow_name) >> incarnation_shift == incarnation::get(tickets_.load(std::memory_order_relaxed)))
    ++overflow_counted_; // else `take_over` has given it up
}

void circuit_cell::give_back_overflow(std::uint32_t count) noexcept {
  auto word = tickets_.load(std::memory_order_relaxed);
  std::uint64_t less = 0;
  do {
    const auto have = overflowed::get(word);
    less = overflowed::set(word,
                           have - std::min(count, have)); // not below zero, should the count ever have been at its end
  } while (!tickets_.compare_exchange_weak(word, less, std::memory_order_seq_cst, std::memory_order_relaxed));
}

void circuit_cell::take_over() noexcept {
  overflow_counted_ = 0;
  auto word = tickets_.load(std::memory_order_relaxed);
  std::uint64_t next = 0;
  do {
    next = overflowed::set(incarnation::set(word, incarnation::get(word) + std::uint64_t{1}), 0);
  } while (!tickets_.compare_exchange_weak(word, next, std::memory_order_seq_cst, std::memory_order_relaxed));
}

} // namespace switchyard
