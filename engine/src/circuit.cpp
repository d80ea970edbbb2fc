#include "switchyard/engine/circuit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace switchyard {

namespace {

/// A real number of nanoseconds as a duration of at most `limit`.
duration at_most(double nanoseconds, duration limit) noexcept {
  if (!(nanoseconds < static_cast<double>(limit.count())))
    return limit;
  return duration{static_cast<duration::rep>(std::llround(nanoseconds))};
}

/// Close seeds must not give close first draws, as they would if they went into the generator as they are.
std::minstd_rand seeded(std::uint64_t seed) {
  std::seed_seq mixed{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)};
  return std::minstd_rand{mixed};
}

} // namespace

std::string_view to_string(circuit_state s) noexcept {
  switch (s) {
  case circuit_state::closed:
    return "closed";
  case circuit_state::open:
    return "open";
  case circuit_state::half_open:
    return "half_open";
  }
  return "unknown";
}

std::string_view to_string(circuit_mode m) noexcept {
  switch (m) {
  case circuit_mode::automatic:
    return "auto";
  case circuit_mode::forced_open:
    return "forced_open";
  case circuit_mode::disabled:
    return "disabled";
  }
  return "unknown";
}

circuit::circuit(const circuit_settings& settings, std::uint64_t seed, std::uint32_t generation)
    : settings_(settings), random_(seeded(seed)), generation_(generation) {
  if (settings_.window)
    window_.emplace(*settings_.window);
}

// ---- time and transitions ------------------------------------------------------------------------------------------

void circuit::advance(time_point now) {
  if (state_ == circuit_state::closed)
    return; // nothing is timed; most reports come here
  // A lease's end reopens, and that cooldown may be over too by now; after that nothing is left to time.
  for (auto timer = next_timer(); timer && *timer <= now; timer = next_timer()) {
    if (state_ == circuit_state::half_open)
      transition_to(circuit_state::open, *timer, "probe_lease");
    else if (settings_.canary)
      canary_due_ = true;
    else
      transition_to(circuit_state::half_open, *timer, "cooldown");
  }
}

std::optional<time_point> circuit::next_timer() const noexcept {
  if (state_ == circuit_state::half_open && !probes_.empty()) {
    const auto earlier = [](const probe& a, const probe& b) { return a.lease_end < b.lease_end; };
    return std::min_element(probes_.begin(), probes_.end(), earlier)->lease_end;
  }
  return next_probe_at();
}

void circuit::transition_to(circuit_state to, time_point at, std::string_view reason) {
  if (transitions_.size() == max_transitions)
    transitions_.erase(transitions_.begin());
  transitions_.push_back({state_, to, at, reason});
  if (state_ == circuit_state::half_open && to == circuit_state::open)
    ++reopens_;
  begin(to, at);
}

void circuit::begin(circuit_state state, time_point at) {
  state_ = state;
  entered_ = at;
  ++generation_; // from here on permits of what was before are stale [C9]
  hanging_.clear();
  probes_.clear();
  probe_successes_ = 0;
  canary_due_ = false;
  switch (state) {
  case circuit_state::closed:
    return enter_closed();
  case circuit_state::open:
    return enter_open(at);
  case circuit_state::half_open:
    return enter_half_open();
  }
}

void circuit::enter_closed() { // [C10]
  streak_ = 0;
  reopens_ = 0;
  retry_until_.reset();
  if (window_)
    window_->clear();
}

void circuit::enter_open(time_point at) {
  ++trips_;
  opened_at_ = at;
  cooldown_end_ = cooldown_end(at);
}

void circuit::enter_half_open() {
  probes_.reserve(settings_.probes);
}

time_point circuit::cooldown_end(time_point from) { // [C5]
  const double factor = std::pow(settings_.cooldown_multiplier, reopens_);
  const auto grown = factor == 1.0
                         ? settings_.cooldown
                         : at_most(static_cast<double>(settings_.cooldown.count()) * factor, settings_.max_cooldown);
  auto end = plus(from, jittered(std::min(grown, settings_.max_cooldown)));
  if (settings_.honour_retry_after && retry_until_)
    end = std::max(end, std::min(*retry_until_, plus(from, settings_.max_cooldown)));
  return end;
}

duration circuit::jittered(duration d) {
  if (settings_.cooldown_jitter == 0)
    return d;
  constexpr auto low = std::minstd_rand::min(), high = std::minstd_rand::max();
  const double share = static_cast<double>(random_() - low) / static_cast<double>(high - low); // [0, 1]
  const double spread = 1 + settings_.cooldown_jitter * (2 * share - 1);
  return at_most(static_cast<double>(d.count()) * spread, settings_.max_cooldown);
}

// ---- admission -----------------------------------------------------------------------------------------------------

admission_verdict circuit::ask(time_point now) {
  using kind = admission_verdict::kind;
  advance(now);
  admission_verdict verdict{.what = kind::refused, .generation = generation_, .probe = 0, .wait = {}};
  if (mode_ == circuit_mode::forced_open)
    return verdict;
  if (mode_ == circuit_mode::disabled || state_ == circuit_state::closed) {
    verdict.what = kind::admitted;
  } else if (probe_available()) {
    if (++last_probe_ == 0)
      ++last_probe_; // 0 means "no probe"
    probes_.push_back({last_probe_, plus(now, settings_.probe_lease)});
    verdict.what = kind::probe;
    verdict.probe = last_probe_;
  } else if (const auto next = next_probe_at()) {
    verdict.wait = *next - now;
  }
  return verdict;
}

bool circuit::probe_available() const noexcept {
  return state_ == circuit_state::half_open && probes_.size() < settings_.probes;
}

std::optional<time_point> circuit::next_probe_at() const noexcept {
  if (state_ != circuit_state::open || canary_due_)
    return std::nullopt;
  return cooldown_end_;
}

// ---- outcomes ------------------------------------------------------------------------------------------------------

report_result circuit::report(const outcome_report& r, time_point now) {
  advance(now);
  if (r.generation != generation_)
    return report_result::ignored;
  if (r.probe != 0)
    return report_probe(r);
  if (state_ != circuit_state::closed)
    return report_result::ignored;
  return report_call(r, now);
}

report_result circuit::report_call(const outcome_report& r, time_point now) {
  switch (r.what) {
  case outcome::neutral:
  case outcome::cancelled:
    take_hanging(r.amends); // its entry stays slow [C17]
    return report_result::ignored;
  case outcome::hanging:
    if (!window_)
      return report_result::ignored;
    count_hanging(r);
    break;
  case outcome::success:
    count_successes(r, now);
    return report_result::counted;
  case outcome::slow_success:
    count_success(r);
    break;
  case outcome::failure:
    count_failure(r, now);
    break;
  case outcome::flowing: // of probes only
    return report_result::ignored;
  }
  evaluate(r.at, now);
  return report_result::counted;
}

// Each outcome is evaluated, successes too; but once a window has its minimum of calls a plain success can only keep or
// lower its rates, so the rest of a run goes in at once.
void circuit::count_successes(const outcome_report& r, time_point now) {
  if (r.amends != 0 || !window_) {
    count_success(r);
    return evaluate(r.at, now);
  }
  streak_ = 0;
  auto left = r.repeat;
  do {
    window_->add(outcome_window::entry::success, r.at);
    evaluate(r.at, now);
    if (--left == 0 || state_ != circuit_state::closed)
      return;
  } while (window_->totals(now).calls < settings_.window->minimum_calls);
  window_->add_successes(left, r.at);
}

void circuit::count_success(const outcome_report& r) {
  streak_ = 0;
  if (r.amends != 0)
    take_hanging(r.amends); // its entry stays slow [C17]
  else if (window_)
    window_->add(r.what == outcome::success ? outcome_window::entry::success : outcome_window::entry::slow, r.at);
}

void circuit::count_failure(const outcome_report& r, time_point now) {
  ++streak_;
  remember_retry_after(r);
  if (!window_)
    return;
  if (const auto entry = take_hanging(r.amends))
    window_->slow_to_failure(*entry, now);
  else
    window_->add(outcome_window::entry::failure, r.at);
}

void circuit::count_hanging(const outcome_report& r) {
  const auto entry = window_->add(outcome_window::entry::slow, r.at);
  if (hanging_.size() < max_hanging)
    hanging_.insert_or_assign(r.ticket + 1, entry);
}

std::optional<window_entry> circuit::take_hanging(std::uint32_t amends) {
  if (amends == 0)
    return std::nullopt;
  const auto node = hanging_.extract(amends);
  return node.empty() ? std::nullopt : std::optional{node.mapped()};
}

void circuit::remember_retry_after(const outcome_report& r) {
  if (!r.retry_after || *r.retry_after <= duration::zero())
    return;
  const auto until = plus(r.at, *r.retry_after);
  retry_until_ = std::max(retry_until_.value_or(until), until);
}

void circuit::evaluate(time_point at, time_point now) { // [C1]
  std::string_view rule;
  if (streak_ >= settings_.consecutive_failures)
    rule = "consecutive_failures";
  else if (window_)
    rule = tripped_rule(*settings_.window, window_->totals(now));
  if (!rule.empty())
    transition_to(circuit_state::open, std::max(at, entered_), rule);
}

report_result circuit::report_probe(const outcome_report& r) {
  const auto found = std::find_if(probes_.begin(), probes_.end(), [&](const probe& p) { return p.id == r.probe; });
  if (found == probes_.end()) {
    ++refused_reports_;
    return report_result::refused;
  }
  if (r.what == outcome::hanging)
    return report_result::ignored; // the lease rules it [C8]
  if (r.what == outcome::flowing) {
    found->lease_end = time_point::max();
    return report_result::counted;
  }
  probes_.erase(found);
  switch (r.what) {
  case outcome::success:
  case outcome::slow_success:
    if (++probe_successes_ >= settings_.probes)
      transition_to(circuit_state::closed, std::max(r.at, entered_), "probes_succeeded");
    return report_result::counted;
  case outcome::failure:
    remember_retry_after(r);
    transition_to(circuit_state::open, std::max(r.at, entered_), "probe_failed");
    return report_result::counted;
  case outcome::neutral:
  case outcome::cancelled:
  case outcome::hanging:
  case outcome::flowing:
    break; // the slot is free again
  }
  return report_result::ignored;
}

// ---- operators and the canary --------------------------------------------------------------------------------------

void circuit::set_mode(circuit_mode mode) noexcept {
  mode_ = mode;
}

void circuit::reset(time_point now) {
  begin_anew(now, "reset");
}

void circuit::reconfigure(const circuit_settings& settings, time_point now) {
  settings_ = settings;
  window_.reset();
  if (settings_.window)
    window_.emplace(*settings_.window);
  begin_anew(now, "reconfigured");
}

void circuit::begin_anew(time_point now, std::string_view reason) {
  if (state_ == circuit_state::closed)
    begin(circuit_state::closed, now); // a new generation, but no change of state to tell of
  else
    transition_to(circuit_state::closed, now, reason);
}

void circuit::canary_result(std::uint32_t generation, bool passed, time_point now) { // [C13]
  if (!canary_due_ || generation != generation_)
    return;
  if (passed)
    return transition_to(circuit_state::half_open, now, "canary_passed");
  canary_due_ = false;
  ++reopens_;
  cooldown_end_ = cooldown_end(now);
}

// ---- views ---------------------------------------------------------------------------------------------------------

trip_distance circuit::distance(time_point now) const {
  constexpr auto never = std::numeric_limits<std::uint32_t>::max();
  trip_distance result{.outcomes = never, .failures = never, .valid_until = time_point::max()};
  if (state_ != circuit_state::closed)
    return result;
  result.outcomes = settings_.consecutive_failures - streak_; // closed: the streak is below the threshold
  result.failures = result.outcomes;
  if (window_) {
    const auto totals = window_->totals(now);
    result.outcomes = std::min(result.outcomes, outcomes_to_trip(*settings_.window, totals));
    result.failures = std::min(result.failures, failures_to_trip(*settings_.window, totals));
    result.valid_until = window_->stable_until(now);
  }
  return result;
}

bool circuit::success_is_idle() const noexcept {
  return state_ == circuit_state::closed && streak_ == 0 && !window_;
}

circuit_snapshot circuit::snapshot(time_point now) const {
  circuit_snapshot s{};
  s.state = state_;
  s.mode = mode_;
  s.consecutive_failures = streak_;
  if (window_) {
    const auto t = window_->totals(now);
    s.window_calls = t.calls;
    if (t.calls != 0) {
      s.failure_rate = static_cast<double>(t.failures) / t.calls;
      s.slow_call_rate = static_cast<double>(t.slow) / t.calls;
    }
  }
  if (state_ != circuit_state::closed)
    s.opened_at = opened_at_;
  if (const auto next = next_probe_at())
    s.wait = std::max(*next - now, duration::zero());
  s.probes_in_flight = static_cast<std::uint32_t>(probes_.size());
  s.trips = trips_;
  s.refused_reports = refused_reports_;
  return s;
}

time_point circuit::rates_stable_until(time_point now) const {
  return window_ ? window_->stable_until(now) : time_point::max();
}

} // namespace switchyard
