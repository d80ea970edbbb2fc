#pragma once

// The circuit: a state machine without threads, clock or lock. One breaker actor owns one circuit and is the
// only one to call it; callers see its state through the published view (circuit_cell.hpp).
//
//                 a rule trips                      cooldown over
//     +--------+  ------------->  +------+  ---------------------->  +-----------+
//     | closed |                  | open |                           | half_open |
//     +--------+                  +------+  <----------------------  +-----------+
//         ^                                  first tripping outcome         |
//         |                                  or a probe past its lease      |
//         +----------------------------------------------------------------+
//                              `probes` successes
//
// With a canary the cooldown's end does not open half_open: it makes the canary due, and its result decides [C13].
//
// What a report does, by state and generation:
//
//   report                  | closed, current      | open, current   | half_open, current     | any earlier generation
//   ------------------------+----------------------+-----------------+------------------------+-----------------------
//   ordinary success        | ends the streak      | nothing         | nothing                | nothing
//   ordinary failure        | counts, may trip     | nothing         | nothing                | nothing
//   ordinary hanging        | counts as slow [C17] | nothing         | nothing                | nothing
//   ordinary neutral,       | nothing              | nothing         | nothing                | nothing
//     cancelled             |                      |                 |                        |
//   probe: success          | refused              | refused         | counts, may close      | nothing
//   probe: failure          | refused              | refused         | reopens                | nothing
//   probe: neutral,         | refused              | refused         | frees its slot         | nothing
//     cancelled             |                      |                 |                        |
//   probe: hanging          | refused              | refused         | nothing: its lease     | nothing
//                           |                      |                 |   rules                |
//   probe: flowing          | refused              | refused         | its lease ends         | nothing
//   probe, reported before  | refused              | refused         | refused                | nothing
//
// (Ordinary reports of an open or half-open generation come from a disabled circuit, which admits in every state.
// A generation has one state, so probe ids meet a closed or open circuit of their generation only by mistake.)
//
// Operator modes lie over the states: forced_open refuses, disabled admits; both still observe.
// Each change of state begins a new generation; what is reported from an earlier one changes nothing [C9].

#include "switchyard/engine/outcome_window.hpp"
#include "switchyard/engine/settings.hpp"
#include "switchyard/engine/time.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace switchyard {

enum class circuit_state : std::uint8_t { closed = 0, open = 1, half_open = 2 };
enum class circuit_mode : std::uint8_t { automatic = 0, forced_open = 1, disabled = 2 };

std::string_view to_string(circuit_state s) noexcept; ///< "closed", "open", "half_open"
std::string_view to_string(circuit_mode m) noexcept;  ///< "auto", "forced_open", "disabled"

/// What a guarded call came to.
enum class outcome : std::uint8_t {
  success,
  slow_success, ///< a success slower than the profile's limit; as good as a success for the streak and for a probe
  failure,      ///< of a tripping class
  neutral,      ///< of a class that does not trip: neither counts nor resets [C3]
  cancelled,    ///< nothing is known: counts as nothing [C8, C16]
  hanging,      ///< still in flight after the slow limit [C17]; one final outcome follows with `amends`
  flowing,      ///< a probe's stream has brought its first content: only its end rules it from here on [C8]; one final
                ///< outcome follows
};

/// One outcome on its way to the circuit.
struct outcome_report {
  std::uint32_t generation = 0; ///< of the permit
  outcome what = outcome::cancelled;
  std::uint32_t probe = 0;             ///< the probe's id when the permit is a probe, else 0
  std::uint32_t ticket = 0;            ///< names this report; set by the cell. Meaningful for `hanging`
  std::uint32_t amends = 0;            ///< ticket of this call's earlier `hanging` report plus 1, else 0
  time_point at{};                     ///< when the call ended (or was found hanging)
  std::optional<duration> retry_after; ///< of a failure, relative to `at` [C5]
  std::uint32_t repeat = 1;            ///< how many plain successes in a row this stands for; else 1
};

/// What the circuit did with a report.
enum class report_result : std::uint8_t {
  counted,
  ignored, ///< neutral, cancelled, from an earlier generation, or of no consequence in this state [C3, C9]
  refused, ///< a second report of one probe, or of a probe that was never granted [C9]
};

/// The answer to one who asks for admission.
struct admission_verdict {
  enum class kind : std::uint8_t {
    admitted, ///< an ordinary call of a closed or disabled circuit
    probe,    ///< one of the probes of a half-open circuit
    refused,
  } what = kind::refused;
  std::uint32_t generation = 0;
  std::uint32_t probe = 0;      ///< the probe's id, not 0, when `what` is probe
  std::optional<duration> wait; ///< when refused: until the next probe may go; nothing when unknown [C6]
};

/// A change of state, in the order in which it happened.
struct circuit_transition {
  circuit_state from, to;
  time_point at;
  std::string_view reason; ///< "consecutive_failures", "failure_rate", "slow_call_rate", "cooldown", "probe_failed",
                           ///< "probe_lease", "probes_succeeded", "canary_passed", "reset",
                           ///< "reconfigured"
};

/// Lower bounds for what it takes to trip a closed circuit, counted before `valid_until`: neither fewer than `outcomes`
/// further outcomes of any kind nor fewer than `failures` that are not plain successes, with any number of those among
/// them, can trip it. They let callers count on without asking [C4].
struct trip_distance {
  std::uint32_t outcomes = 1;
  std::uint32_t failures = 0;                 ///< 0: successes alone may do, as they complete the minimum of calls
  time_point valid_until = time_point::max(); ///< a time window's rates move by themselves when a bucket expires
};

/// Figures for people: what /admin/circuits shows.
struct circuit_snapshot {
  circuit_state state;
  circuit_mode mode;
  std::uint32_t consecutive_failures;
  std::optional<std::uint32_t> window_calls; ///< nothing without a window
  std::optional<double> failure_rate;        ///< nothing without a window or without calls in it
  std::optional<double> slow_call_rate;      ///< the same
  std::optional<time_point> opened_at;       ///< when it last opened; nothing while closed
  std::optional<duration> wait;              ///< until the next probe may go; nothing when closed or unknown
  std::uint32_t probes_in_flight;
  std::uint64_t trips;           ///< times it opened, since it was made
  std::uint64_t refused_reports; ///< second reports of one permit
};

/// One circuit. A value; not thread-safe: one owner. The times passed to it must not go back; the times in reports
/// may lie somewhat before or after them.
class circuit {
public:
  /// Bound of the hanging calls whose window entries are remembered; a failure of one beyond it is a new entry [C17].
  static constexpr std::size_t max_hanging = 100'000;
  /// Bound of the transitions kept for `take_transitions`; the oldest are dropped.
  static constexpr std::size_t max_transitions = 1'024;

  /// `settings` must be valid (validate.hpp). `seed` feeds the cooldown's jitter only. `generation` is the first
  /// one: a successor of a dead breaker continues counting, so that permits of its predecessor are stale [C14].
  explicit circuit(const circuit_settings& settings, std::uint64_t seed = 0, std::uint32_t generation = 1);

  circuit_state state() const noexcept { return state_; }
  circuit_mode mode() const noexcept { return mode_; }
  std::uint32_t generation() const noexcept { return generation_; }
  const circuit_settings& settings() const noexcept { return settings_; }

  /// Somebody asks to be admitted. Grants a probe while a slot of a half-open circuit is free [C7]. First does
  /// what `advance` does.
  admission_verdict ask(time_point now);

  /// Counts one outcome [C1, C3, C5, C8, C9, C17]. First does what `advance` does, for `now`.
  report_result report(const outcome_report& r, time_point now);

  /// Does what time alone brings: the end of a cooldown [C6, C13], of a probe's lease [C8].
  void advance(time_point now);

  /// When `advance` has something to do next, if ever.
  std::optional<time_point> next_timer() const noexcept;

  /// The cooldown is over and a canary decides what comes next [C13]: its result is awaited, no probe goes
  /// meanwhile. The breaker fires one canary each time this becomes true and answers with `canary_result`.
  bool canary_due() const noexcept { return canary_due_; }

  /// The result of the canary that became due in this generation: half_open if it passed, otherwise the cooldown
  /// starts again as after a failed probe. Ignored when none is due or the generation is another.
  void canary_result(std::uint32_t generation, bool passed, time_point now);

  /// Sets the operator's mode. State, streak and window stay as they are and go on observing.
  void set_mode(circuit_mode mode) noexcept;

  /// Closed, empty, as new, in a new generation; mode and lifetime figures stay.
  void reset(time_point now);

  /// Takes other settings, which must be valid, and begins anew with them as by `reset`.
  void reconfigure(const circuit_settings& settings, time_point now);

  /// A slot free for a probe: half-open and fewer probes in flight than allowed.
  bool probe_available() const noexcept;

  /// When the next probe may go: end of the cooldown while open, nothing otherwise and while a canary runs [C6].
  std::optional<time_point> next_probe_at() const noexcept;

  /// See trip_distance. Meaningful while closed.
  trip_distance distance(time_point now) const;

  /// Whether a success now would change nothing: closed, no streak, no window.
  bool success_is_idle() const noexcept;

  circuit_snapshot snapshot(time_point now) const;

  /// When the snapshot's rates may next change by time alone; time_point::max() when they do not.
  time_point rates_stable_until(time_point now) const;

  /// Takes the transitions since the last call.
  std::vector<circuit_transition> take_transitions() { return std::exchange(transitions_, {}); }

private:
  struct probe {
    std::uint32_t id;
    time_point lease_end;
  };

  void begin_anew(time_point now, std::string_view reason);
  void transition_to(circuit_state to, time_point at, std::string_view reason);
  void begin(circuit_state state, time_point at);
  void enter_closed();
  void enter_open(time_point at);
  void enter_half_open();
  time_point cooldown_end(time_point from);
  duration jittered(duration d);

  report_result report_call(const outcome_report& r, time_point now);
  report_result report_probe(const outcome_report& r);
  void count_successes(const outcome_report& r, time_point now);
  void count_success(const outcome_report& r);
  void count_failure(const outcome_report& r, time_point now);
  void count_hanging(const outcome_report& r);
  void remember_retry_after(const outcome_report& r);
  std::optional<window_entry> take_hanging(std::uint32_t amends);
  void evaluate(time_point at, time_point now);

  circuit_settings settings_;
  std::minstd_rand random_; ///< for the jitter only
  circuit_state state_ = circuit_state::closed;
  circuit_mode mode_ = circuit_mode::automatic;
  std::uint32_t generation_;
  time_point entered_ = time_point::min(); ///< when the state began

  // since the circuit last closed
  std::uint32_t reopens_ = 0;
  std::optional<time_point> retry_until_; ///< the latest end of a Retry-After [C5]

  // closed
  std::uint32_t streak_ = 0; ///< shown until the circuit closes again
  std::optional<outcome_window> window_;
  std::unordered_map<std::uint32_t, window_entry> hanging_; ///< by ticket plus 1

  // open
  time_point opened_at_{}; ///< also while half-open
  time_point cooldown_end_{};
  bool canary_due_ = false;

  // half-open
  std::vector<probe> probes_; ///< in flight, at most settings_.probes
  std::uint32_t probe_successes_ = 0;
  std::uint32_t last_probe_ = 0; ///< id; unique over the circuit's life

  std::uint64_t trips_ = 0;
  std::uint64_t refused_reports_ = 0;
  std::vector<circuit_transition> transitions_;
};

} // namespace switchyard
