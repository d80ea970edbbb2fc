#pragma once

#include "switchyard/engine/circuit.hpp"

#include <optional>
#include <vector>

namespace switchyard::test {

/// A rate as a fraction, for arithmetic in whole numbers.
struct fraction {
  std::uint64_t numerator, denominator;
  bool reached_by(std::uint64_t hits, std::uint64_t calls) const { return hits * denominator >= numerator * calls; }
};

/// What the naive circuit needs to know; circuit_settings says the same.
struct naive_rules {
  std::uint32_t threshold = 3;
  std::uint32_t probes = 1;
  duration cooldown = 2s, max_cooldown = 3s;
  std::uint32_t multiplier = 1;
  bool counts = false, times = false; ///< which window, if any
  std::uint32_t size = 0;
  duration span{};
  std::uint32_t minimum_calls = 1;
  fraction failure_rate{1, 1}, slow_rate{1, 1};
};

/// The rules C1-C10 once more, as slow and plain as can be: it keeps everything that ever happened and recounts it
/// for every question. One call at a time, each reported before the next; no leases, hints or modes.
class naive_circuit {
public:
  explicit naive_circuit(const naive_rules& rules) : rules_(rules) {}

  circuit_state state = circuit_state::closed;

  void look(time_point now) {
    if (state == circuit_state::open && now >= opened_at_ + cooldown()) // [C6]
      state = circuit_state::half_open;
  }

  std::optional<duration> wait(time_point now) const {
    if (state != circuit_state::open)
      return std::nullopt;
    return opened_at_ + cooldown() - now;
  }

  /// A call admitted in the present state ends.
  void end(outcome what, time_point now) {
    if (what == outcome::neutral || what == outcome::cancelled)
      return; // [C3, C8]
    if (state == circuit_state::closed) {
      since_closed_.push_back({what, now});
      if (trips(now))
        open(now);
    } else if (what == outcome::failure) {
      ++reopened_;
      open(now); // [C8]
    } else if (++probe_successes_ == rules_.probes) {
      state = circuit_state::closed;
      since_closed_.clear(); // [C10]
      reopened_ = 0;
    }
  }

  std::uint32_t streak() const {
    std::uint32_t n = 0;
    for (auto i = since_closed_.rbegin(); i != since_closed_.rend() && i->what == outcome::failure; ++i)
      ++n;
    return n;
  }

  window_totals window(time_point now) const {
    window_totals t;
    std::size_t from_the_end = since_closed_.size();
    for (const auto& e : since_closed_) {
      const bool last_n = from_the_end-- <= rules_.size;
      if ((rules_.counts && last_n) || (rules_.times && bucket(now) - bucket(e.at) < 32)) {
        t.calls += 1;
        t.failures += e.what == outcome::failure ? 1 : 0;
        t.slow += e.what == outcome::slow_success ? 1 : 0;
      }
    }
    return t;
  }

private:
  struct ended {
    outcome what;
    time_point at;
  };

  std::int64_t bucket(time_point t) const { return t.time_since_epoch() / (rules_.span / 32); }

  bool trips(time_point now) const { // [C1]
    if (streak() >= rules_.threshold)
      return true;
    if (!rules_.counts && !rules_.times)
      return false;
    const auto t = window(now);
    return t.calls >= rules_.minimum_calls &&
           (rules_.failure_rate.reached_by(t.failures, t.calls) || rules_.slow_rate.reached_by(t.slow, t.calls));
  }

  void open(time_point now) {
    state = circuit_state::open;
    opened_at_ = now;
    probe_successes_ = 0;
  }

  duration cooldown() const { // [C5]
    auto d = rules_.cooldown;
    for (std::uint32_t i = 0; i < reopened_ && d < rules_.max_cooldown; ++i)
      d *= rules_.multiplier;
    return d < rules_.max_cooldown ? d : rules_.max_cooldown;
  }

  naive_rules rules_;
  std::vector<ended> since_closed_;
  time_point opened_at_{};
  std::uint32_t reopened_ = 0;
  std::uint32_t probe_successes_ = 0;
};

} // namespace switchyard::test
