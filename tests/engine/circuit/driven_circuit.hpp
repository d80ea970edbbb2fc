#pragma once

#include "switchyard/engine/circuit.hpp"

#include <ostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace switchyard {

// How Catch2 prints these.
inline std::ostream& operator<<(std::ostream& out, circuit_state s) {
  return out << to_string(s);
}
inline std::ostream& operator<<(std::ostream& out, circuit_mode m) {
  return out << to_string(m);
}
inline std::ostream& operator<<(std::ostream& out, report_result r) {
  constexpr const char* names[] = {"counted", "ignored", "refused"};
  return out << names[static_cast<int>(r)];
}
inline std::ostream& operator<<(std::ostream& out, outcome o) {
  constexpr const char* names[] = {"success", "slow_success", "failure", "neutral", "cancelled", "hanging", "flowing"};
  return out << names[static_cast<int>(o)];
}

namespace test {

inline constexpr time_point start{1h};

inline constexpr outcome all_outcomes[] = {outcome::success, outcome::slow_success, outcome::failure,
                                           outcome::neutral, outcome::cancelled,    outcome::hanging};

inline circuit_settings streak_profile(std::uint32_t threshold) {
  circuit_settings s;
  s.consecutive_failures = threshold;
  return s;
}

/// A window that alone decides: the streak's threshold is out of reach.
inline circuit_settings window_profile(window_settings w) {
  auto s = streak_profile(1'000'000);
  s.window = w;
  return s;
}

/// A circuit together with the time, which only the test moves.
class driven_circuit {
public:
  explicit driven_circuit(const circuit_settings& s, std::uint64_t seed = 0) : it(s, seed) {}

  void pass(duration d) {
    now += d;
    it.advance(now);
  }

  /// An ordinary call of the current generation ends now.
  report_result end(outcome what, std::optional<duration> retry_after = {}) {
    return it.report(of(it.generation(), what, retry_after), now);
  }

  void end(std::initializer_list<outcome> several) {
    for (const auto what : several)
      end(what);
  }

  /// A call is found hanging; returns what its final report amends.
  std::uint32_t hang() {
    auto r = of(it.generation(), outcome::hanging);
    r.ticket = next_ticket_++;
    it.report(r, now);
    return r.ticket + 1;
  }

  report_result end_hanging(std::uint32_t amends, outcome what) {
    auto r = of(it.generation(), what);
    r.amends = amends;
    return it.report(r, now);
  }

  /// Asks and must be granted a probe.
  admission_verdict probe() {
    const auto verdict = it.ask(now);
    if (verdict.what != admission_verdict::kind::probe)
      throw std::logic_error("no probe granted");
    return verdict;
  }

  report_result end_probe(const admission_verdict& v, outcome what, std::optional<duration> retry_after = {}) {
    auto r = of(v.generation, what, retry_after);
    r.probe = v.probe;
    return it.report(r, now);
  }

  /// From closed, by as many failures as the streak's threshold.
  void trip() {
    for (std::uint32_t i = 0; i < it.settings().consecutive_failures; ++i)
      end(outcome::failure);
  }

  /// From open, by waiting.
  void cool_down() { pass(it.next_probe_at().value() - now); }

  outcome_report of(std::uint32_t generation, outcome what, std::optional<duration> retry_after = {}) const {
    outcome_report r;
    r.generation = generation;
    r.what = what;
    r.at = now;
    r.retry_after = retry_after;
    return r;
  }

  circuit it;
  time_point now = start;

private:
  std::uint32_t next_ticket_ = 0;
};

/// "closed>open consecutive_failures", one line per transition since the last call.
inline std::vector<std::string> told(circuit& c) {
  std::vector<std::string> lines;
  for (const auto& t : c.take_transitions())
    lines.push_back(std::string(to_string(t.from)) + ">" + std::string(to_string(t.to)) + " " + std::string(t.reason));
  return lines;
}

} // namespace test
} // namespace switchyard
