#pragma once

#include "switchyard/engine/settings.hpp"
#include "switchyard/engine/time.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace switchyard {

/// What a window counts.
struct window_totals {
  std::uint32_t calls = 0;
  std::uint32_t failures = 0;
  std::uint32_t slow = 0;
};

/// Names one entry of a window, so that a hanging call's entry can become a failure [C17].
struct window_entry {
  std::uint64_t position = 0; ///< count window: running number; time window: bucket number
};

/// The last N outcomes, or the outcomes of the last span of time in buckets [C2]. O(1) per outcome, bounded memory,
/// whatever the load: a count window holds two bits per outcome, a time window 32 buckets. Not thread-safe.
///
/// A time window is the bucket that holds `now` and the 31 before it, each span/32 long and aligned to the clock's
/// zero: an outcome counts for at least 31/32 of the span and never longer than the span. `now` must not go back;
/// the times of outcomes may, a little: each goes to its own bucket, and one older than the window is dropped.
class outcome_window {
public:
  enum class entry : std::uint8_t { success, slow, failure };
  static constexpr std::uint32_t time_buckets = 32;

  explicit outcome_window(const window_settings& s);

  window_entry add(entry e, time_point at);
  /// Adds `n` successes at once: a count window of size N takes min(n, N) steps, a time window one.
  void add_successes(std::uint32_t n, time_point at);
  /// Turns a slow entry into a failure; nothing when it has left the window. `e` must be of after the last `clear`.
  void slow_to_failure(window_entry e, time_point now);
  window_totals totals(time_point now) const;
  void clear();
  /// When totals may next change by time alone; time_point::max() for a count window and for an empty one.
  time_point stable_until(time_point now) const;

private:
  window_entry add_counted(entry e);
  window_entry add_timed(entry e, time_point at);
  void rotate_to(std::int64_t number);

  entry read(std::uint32_t place) const;
  void write(std::uint32_t place, entry e);

  std::int64_t bucket_number(time_point t) const;
  const window_totals& bucket(std::int64_t number) const {
    return buckets_[static_cast<std::uint64_t>(number) % time_buckets];
  }
  window_totals& bucket(std::int64_t number) { return buckets_[static_cast<std::uint64_t>(number) % time_buckets]; }

  window_settings::kind type_;
  window_totals totals_; ///< of all that is held; of a time window as of its newest bucket

  // a count window
  std::uint32_t size_ = 0;
  std::vector<std::uint8_t> ring_;     ///< two bits per entry; the entry at position p has place p modulo size
  std::uint32_t next_place_ = 0;       ///< of the next entry: no division per outcome
  std::uint64_t first_ = 0, next_ = 0; ///< positions held: [max(first, next - size), next)

  // a time window
  duration width_{1};
  std::vector<window_totals> buckets_; ///< bucket n is at n modulo 32, for n in (newest - 32, newest]
  std::optional<std::int64_t> newest_; ///< number of the newest bucket; nothing before the first outcome
};

/// The rule that holds, if any [C1]: "failure_rate" or "slow_call_rate", empty if none.
///
/// A rate holds when the quotient count/calls, rounded to double, is >= the configured double. Both are the double
/// nearest to their true value, so equal values compare equal (3 of 10 reaches 0.3), and unequal ones keep their
/// order as long as they differ by more than 2^-53: for every rate of up to nine decimals in a window of up to a
/// million calls.
std::string_view tripped_rule(const window_settings& s, const window_totals& t) noexcept;

/// A lower bound, at least 1, of how many further outcomes (of any kind, amendments included) it takes until
/// `tripped_rule` can hold, as long as the window forgets nothing by time. The largest value when no rule is set.
///
/// k further outcomes add at most k failures, so failures <= f + k. They add as many calls, but for amendments, each
/// of which needs a slow entry: calls >= c + k - slow, and never fewer than c. A trip needs calls >= minimum and
/// failures >= rate * calls; the bound is the least k that satisfies both. A full count window keeps its size.
/// The same holds for slow calls, which no amendment adds.
std::uint32_t outcomes_to_trip(const window_settings& s, const window_totals& t) noexcept;

/// A lower bound of how many further outcomes that are not plain successes it takes, with any number of plain ones
/// among them, until `tripped_rule` can hold, as long as the window forgets nothing by time. 0 when successes alone may
/// do: there are enough failures, and only the minimum of calls is missing. The largest value when no rule is set.
///
/// Calls never become fewer, and each such outcome, amendments included, adds at most one failure or one slow call.
std::uint32_t failures_to_trip(const window_settings& s, const window_totals& t) noexcept;

} // namespace switchyard
