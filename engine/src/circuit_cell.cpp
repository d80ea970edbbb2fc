#include "switchyard/engine/circuit_cell.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace switchyard {

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
// 4. A slot is reused only by a reporter that read, with acquire, a progress published after the breaker popped it.
// 5. No report is left lying. Reporter: take ticket, then load progress, lazy, wake. Breaker: store wake (false) or
//    lazy (false), pop, store progress, then load tickets (`unfinished`). All are seq_cst, so either the reporter
//    sees what the breaker stored, and wakes it if it must, or the breaker sees the ticket, and drains again.

namespace {

constexpr auto unlimited = std::numeric_limits<std::uint32_t>::max();
constexpr auto unknown_time = std::numeric_limits<std::int64_t>::max();

constexpr std::uint32_t low(std::uint64_t word) noexcept {
  return static_cast<std::uint32_t>(word);
}
constexpr std::uint32_t high(std::uint64_t word) noexcept {
  return static_cast<std::uint32_t>(word >> 32);
}
constexpr std::uint64_t join(std::uint32_t high_half, std::uint32_t low_half) noexcept {
  return static_cast<std::uint64_t>(high_half) << 32 | low_half;
}

/// `a - b` of two counters that wrap. Negative when `b` was read later and has passed `a`.
constexpr std::int32_t ahead(std::uint32_t a, std::uint32_t b) noexcept {
  return static_cast<std::int32_t>(a - b);
}

constexpr std::int64_t nanoseconds(time_point t) noexcept {
  return t.time_since_epoch().count();
}

/// The admission word: generation in the high half, the rest in bits of the low half.
struct view {
  circuit_state state = circuit_state::closed;
  circuit_mode mode = circuit_mode::automatic;
  bool probe_available = false;
  bool success_is_idle = false;
  std::uint32_t generation = 1;

  constexpr std::uint64_t pack() const noexcept {
    return join(generation, static_cast<std::uint32_t>(state) | static_cast<std::uint32_t>(mode) << 2 |
                                static_cast<std::uint32_t>(probe_available) << 4 |
                                static_cast<std::uint32_t>(success_is_idle) << 5);
  }
  static constexpr view unpack(std::uint64_t word) noexcept {
    const auto bits = low(word);
    return {static_cast<circuit_state>(bits & 3), static_cast<circuit_mode>(bits >> 2 & 3), (bits >> 4 & 1) != 0,
            (bits >> 5 & 1) != 0, high(word)};
  }
};

/// Names of queued reports and of those that travel in messages are kept apart by the top bit.
constexpr std::uint32_t overflow_name = 1u << 31;
constexpr std::uint32_t name_of(std::uint32_t ticket) noexcept {
  return ticket & ~overflow_name;
}

bool is_plain_success(const outcome_report& r) noexcept {
  return r.what == outcome::success && r.probe == 0 && r.amends == 0;
}

void append_encoded(std::string& to, const std::string& part) {
  for (const char c : part) {
    if (c == '/')
      to += "%2F";
    else if (c == '%')
      to += "%25";
    else
      to += c;
  }
}

} // namespace

std::string circuit_id::str() const {
  std::string result;
  append_encoded(result, provider);
  if (!model.empty() || !region.empty()) {
    result += '/';
    append_encoded(result, model);
  }
  if (!region.empty()) {
    result += '/';
    append_encoded(result, region);
  }
  return result;
}

/// A queued report in 32 bytes.
struct circuit_cell::slot {
  std::atomic<std::uint32_t> written{0}; ///< ticket plus 1 once the rest is written
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
      capacity_(std::bit_ceil(std::clamp(capacity, 2u, 1u << 20))),
      slots_(std::make_unique<slot[]>(capacity_)),
      progress_(join(0, 1)),
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
    const auto pending = ahead(low(tickets), high(progress));
    if (high(tickets) != 0) // some travel in messages: let the breaker catch up
      return {kind::ask, v.generation, {}};
    if (pending <= 0)
      return {kind::admitted, v.generation, {}};
    const bool known = static_cast<std::uint32_t>(pending) < low(progress) &&
                       nanoseconds(now) < valid_until_.load(std::memory_order_acquire) &&
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
  case circuit_state::half_open:
    return {v.probe_available ? kind::ask : kind::refused, v.generation, {}};
  }
  return {};
}

bool circuit_cell::still_admits(std::uint32_t generation) const noexcept {
  const auto v = view::unpack(admission_.load(std::memory_order_acquire));
  if (v.mode != circuit_mode::automatic)
    return v.mode == circuit_mode::disabled;
  return v.generation == generation;
}

/// Whether the circuit would certainly ignore an ordinary report, so that it need not be sent. Loads in the order of
/// try_admit: if nothing is pending, the view is that of every report handed in before this one.
bool circuit_cell::changes_nothing(const outcome_report& r) const noexcept {
  if (r.probe != 0)
    return false;
  if (r.amends == 0 && (r.what == outcome::neutral || r.what == outcome::cancelled))
    return true; // [C3]
  const auto tickets = tickets_.load(std::memory_order_acquire);
  const auto progress = progress_.load(std::memory_order_acquire);
  const auto v = view::unpack(admission_.load(std::memory_order_acquire));
  if (ahead(v.generation, r.generation) > 0)
    return true; // from an earlier generation [C9]
  if (v.generation != r.generation)
    return false;
  if (v.state != circuit_state::closed)
    return true; // a generation has one state; an ordinary permit of this one is of a disabled circuit
  return v.success_is_idle && is_plain_success(r) && high(tickets) == 0 && ahead(low(tickets), high(progress)) <= 0;
}

report_receipt circuit_cell::report(const outcome_report& r) noexcept {
  if (changes_nothing(r))
    return {};
  auto word = tickets_.load(std::memory_order_relaxed);
  for (;;) {
    const auto ticket = low(word);
    const auto settled = high(progress_.load(std::memory_order_acquire));
    const bool fits = high(word) == 0 && ahead(ticket, settled) < static_cast<std::int32_t>(capacity_);
    const auto taken = fits ? join(0, ticket + 1) : join(high(word) + 1, ticket);
    if (!tickets_.compare_exchange_weak(word, taken, std::memory_order_seq_cst, std::memory_order_relaxed))
      continue;
    if (!fits)
      return overflow(r);
    auto& s = slots_[ticket & (capacity_ - 1)];
    s.write(r);
    s.written.store(ticket + 1, std::memory_order_release);
    return {must_wake(r, ticket), true, name_of(ticket)};
  }
}

report_receipt circuit_cell::overflow(const outcome_report& r) noexcept {
  report_receipt receipt{.wake = false, .queued = false, .ticket = 0};
  if (r.what == outcome::hanging) // only these are named later
    receipt.ticket = overflow_names_.fetch_add(1, std::memory_order_relaxed) | overflow_name;
  return receipt;
}

bool circuit_cell::must_wake(const outcome_report& r, std::uint32_t ticket) noexcept {
  const auto progress = progress_.load(std::memory_order_seq_cst);
  const auto pending = ahead(ticket + 1, high(progress)); // up to and with this one
  if (pending <= 0)
    return false; // counted already
  const auto count = static_cast<std::uint32_t>(pending);
  const bool first = count == 1 && !lazy_.load(std::memory_order_seq_cst);
  if (is_plain_success(r) && !first && count < low(progress) && count < capacity_ / 2)
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
}

std::optional<outcome_report> circuit_cell::pop() noexcept {
  const auto& s = slots_[head_ & (capacity_ - 1)];
  if (s.written.load(std::memory_order_acquire) != head_ + 1)
    return std::nullopt;
  std::optional<outcome_report> r(std::in_place);
  s.read(*r);
  r->ticket = name_of(head_++);
  return r;
}

bool circuit_cell::unfinished() const noexcept {
  return low(tickets_.load(std::memory_order_seq_cst)) != head_;
}

void circuit_cell::publish(const circuit& c, time_point now) noexcept {
  const bool closed = c.state() == circuit_state::closed;
  const auto distance = closed ? c.distance(now) : trip_distance{unlimited, time_point::max()};
  const auto valid_until = nanoseconds(distance.valid_until);
  const auto before = progress_.load(std::memory_order_relaxed); // only this thread writes the view
  if (c.generation() != generation() || valid_until != valid_until_.load(std::memory_order_relaxed))
    progress_.store(join(high(before), 0), std::memory_order_release);
  if (c.state() == circuit_state::open) {
    const auto next = c.next_probe_at();
    next_probe_.store(next ? nanoseconds(*next) : unknown_time, std::memory_order_relaxed);
  }
  const view v{c.state(), c.mode(), c.probe_available(), c.success_is_idle(), c.generation()};
  admission_.store(v.pack(), std::memory_order_release);
  valid_until_.store(valid_until, std::memory_order_release);
  progress_.store(join(head_, distance.outcomes), std::memory_order_seq_cst);
  if (overflow_counted_ != 0)
    give_back_overflow(std::exchange(overflow_counted_, 0));
}

void circuit_cell::give_back_overflow(std::uint32_t count) noexcept {
  auto word = tickets_.load(std::memory_order_relaxed);
  // Never below zero: after take_over a message that was given up may yet arrive.
  while (!tickets_.compare_exchange_weak(word, join(high(word) - std::min(count, high(word)), low(word)),
                                         std::memory_order_seq_cst, std::memory_order_relaxed)) {
  }
}

void circuit_cell::take_over() noexcept {
  overflow_counted_ = 0;
  give_back_overflow(unlimited);
}

} // namespace switchyard
