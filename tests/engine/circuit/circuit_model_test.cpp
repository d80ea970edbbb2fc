#include "driven_circuit.hpp"
#include "naive_circuit.hpp"

#include "support/catch.hpp"

#include <string>

using namespace switchyard;
using namespace switchyard::test;

// Every string of up to eight outcomes, through the circuit and through the naive one, which must agree after each.

namespace {

constexpr outcome alphabet[] = {outcome::success, outcome::slow_success, outcome::failure, outcome::neutral,
                                outcome::cancelled};
constexpr const char* letters = "sSFnc";
constexpr int longest = 8;
constexpr std::uint64_t strings = 5 + 25 + 125 + 625 + 3'125 + 15'625 + 78'125 + 390'625;

circuit_settings settings_of(const naive_rules& rules) {
  auto s = streak_profile(rules.threshold);
  s.probes = rules.probes;
  s.cooldown = rules.cooldown;
  s.max_cooldown = rules.max_cooldown;
  s.cooldown_multiplier = rules.multiplier;
  if (rules.counts || rules.times) {
    window_settings w;
    w.type = rules.counts ? window_settings::kind::count : window_settings::kind::time;
    w.size = rules.size;
    w.span = rules.span;
    w.minimum_calls = rules.minimum_calls;
    const auto real = [](fraction f) { return static_cast<double>(f.numerator) / static_cast<double>(f.denominator); };
    w.failure_rate = real(rules.failure_rate);
    w.slow_call_rate = real(rules.slow_rate);
    s.window = w;
  }
  return s;
}

class pair_of_circuits {
public:
  explicit pair_of_circuits(const naive_rules& rules) : real_(settings_of(rules)), naive_(rules) {}

  /// Asks; a call that is admitted ends with `what`, one that is refused lets an old one end late. Then `pause`.
  /// Whether both circuits did the same.
  bool step(outcome what, duration pause) {
    const auto verdict = real_.ask(now_);
    naive_.look(now_);
    const bool refused = verdict.what == admission_verdict::kind::refused;
    if (refused != (naive_.state == circuit_state::open) || (refused && verdict.wait != naive_.wait(now_)))
      return false;
    outcome_report r;
    r.generation = refused ? last_generation_ : verdict.generation;
    r.what = what;
    r.probe = verdict.probe;
    r.at = now_;
    last_generation_ = r.generation;
    const bool counted = real_.report(r, now_) == report_result::counted;
    const bool counts = !refused && what != outcome::neutral && what != outcome::cancelled;
    if (!refused)
      naive_.end(what, now_);
    const bool as_one = counted == counts && same();
    now_ += pause;
    return as_one;
  }

private:
  bool same() const {
    const auto s = real_.snapshot(now_);
    if (s.state != naive_.state || s.wait != naive_.wait(now_))
      return false;
    if (s.state != circuit_state::closed)
      return true;
    const auto w = naive_.window(now_);
    const auto rate = [&](std::uint32_t hits) { return w.calls == 0 ? 0 : static_cast<double>(hits) / w.calls; };
    return s.consecutive_failures == naive_.streak() && s.window_calls.value_or(0) == w.calls &&
           s.failure_rate.value_or(0) == rate(w.failures) && s.slow_call_rate.value_or(0) == rate(w.slow);
  }

  circuit real_;
  naive_circuit naive_;
  std::uint32_t last_generation_ = 0;
  time_point now_ = start;
};

/// Walks the tree of all strings that begin with `so_far`.
void explore(const pair_of_circuits& circuits, std::string& so_far, std::uint64_t& seen) {
  if (so_far.size() == longest)
    return;
  for (std::size_t i = 0; i < std::size(alphabet); ++i) {
    auto next = circuits;
    so_far.push_back(letters[i]);
    ++seen;
    const auto pause = so_far.size() % 3 == 0 ? 500ms : 1s; // calls meet every state at several ages
    if (!next.step(alphabet[i], pause))
      FAIL("the circuits differ after " << so_far);
    explore(next, so_far, seen);
    so_far.pop_back();
  }
}

std::uint64_t explore_all(const naive_rules& rules) {
  std::string so_far;
  std::uint64_t seen = 0;
  explore(pair_of_circuits{rules}, so_far, seen);
  return seen;
}

} // namespace

TEST_CASE("with a streak alone every string of outcomes does what the rules say [C1][C3][C5][C6][C8][C9][C10]") {
  naive_rules rules;
  rules.threshold = 2;
  rules.multiplier = 2;
  CHECK(explore_all(rules) == strings);
}

TEST_CASE("a threshold of one opens on the first failure in every string of outcomes [C4][C10]") {
  naive_rules rules;
  rules.threshold = 1;
  rules.probes = 2;
  CHECK(explore_all(rules) == strings);
}

TEST_CASE("with a count window every string of outcomes does what the rules say [C1][C2][C3][C8][C10]") {
  naive_rules rules;
  rules.probes = 2;
  rules.counts = true;
  rules.size = 4;
  rules.minimum_calls = 3;
  rules.failure_rate = {1, 2};
  rules.slow_rate = {2, 3};
  CHECK(explore_all(rules) == strings);
}

TEST_CASE("with a time window every string of outcomes does what the rules say [C1][C2][C3][C18]") {
  naive_rules rules;
  rules.threshold = 4;
  rules.times = true;
  rules.span = 3200ms;
  rules.minimum_calls = 2;
  rules.failure_rate = {2, 3};
  rules.slow_rate = {3, 4};
  CHECK(explore_all(rules) == strings);
}
