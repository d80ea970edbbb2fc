#include "switchyard/actors/breaker.hpp"

#include "switchyard/engine/circuit.hpp"
#include "switchyard/engine/duration_text.hpp"

#include <caf/actor_cast.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace switchyard {

namespace {

using std::chrono::milliseconds;

// Successes of a window wait at most so long to be counted when nothing else wakes the breaker.
constexpr milliseconds lazy_interval{200};

struct grant {
  caf::actor_addr holder;
  std::uint32_t generation;
};

struct breaker_state {
  static inline const char* name = "switchyard.breaker";

  breaker_actor::stateful_pointer<breaker_state> self = nullptr;
  std::weak_ptr<circuit_handle> handle; ///< which ends the breaker when it goes
  std::shared_ptr<circuit_cell> shown;
  std::shared_ptr<const services> shared;
  std::optional<circuit> own;
  caf::actor_addr canary;          ///< that runs; null: none
  std::uint64_t canaries = 0;      ///< that were sent
  std::uint32_t canary_of = 0;     ///< the generation that the last one is to decide about
  std::deque<outcome_report> held; ///< came by message and must not go before a report still being written
  std::optional<time_point> timer_at;
  std::uint64_t timer = 0;
  std::uint32_t counted = 0;                  ///< reports since the lazy timer last fired
  bool rates_due = false;                     ///< the window is another than when its rates were last announced
  time_point rates_until = time_point::max(); ///< then they change by time alone
  bool drain_sent = false;                    ///< a drain_reports of its own is on its way
  bool lazy = false;
  std::optional<time_point> lazy_until;
  /// Probes whose holders are actors, by id: a holder that dies gives its slot back [C8, C16].
  std::unordered_map<std::uint32_t, grant> holders;
  std::vector<caf::actor_addr> gone; ///< died, and what they handed in is not yet counted

  circuit_cell& cell() const { return *shown; }
  time_point now() const { return self->clock().now(); }

  void count(const outcome_report& report, time_point at) {
    own->report(report, at);
    if (report.probe != 0 && report.what != outcome::flowing && !holders.empty())
      unwatch(report.probe);
    ++counted;
    rates_due = true;
  }

  // Counts what waits, in order, and publishes. False when a ticket is taken whose report is not yet written: behind it
  // may stand outcomes that were answered long ago, so nothing else may go before them [C4].
  bool drain(time_point at) {
    cell().begin_drain();
    while (const auto report = cell().pop(at))
      count(*report, at);
    own->advance(at);
    // While reports travel in messages no further ticket is taken, so all that were are counted here.
    if (!cell().unfinished())
      for (; !held.empty(); held.pop_front()) {
        count(held.front(), at);
        cell().overflow_counted(held.front().ticket);
      }
    const bool complete = held.empty() && !cell().unfinished();
    if (complete)
      for (const auto& holder : std::exchange(gone, {}))
        give_back_probes_of(holder, at);
    publish(at);
    return complete;
  }

  void unwatch(std::uint32_t probe) {
    const auto node = holders.extract(probe);
    if (!node.empty())
      self->demonitor(node.mapped().holder);
  }

  // Its own outcomes went before it, so a probe that it still holds never gets one.
  void give_back_probes_of(const caf::actor_addr& holder, time_point at) {
    for (auto it = holders.begin(); it != holders.end();) {
      if (it->second.holder != holder) {
        ++it;
        continue;
      }
      outcome_report unused;
      unused.generation = it->second.generation;
      unused.probe = it->first;
      unused.what = outcome::cancelled;
      unused.at = at;
      it = holders.erase(it);
      own->report(unused, at);
    }
  }

  void holder_down(const caf::down_msg& down) {
    if (down.source == canary)
      return canary_ended({canaries, "it died"});
    gone.push_back(down.source);
    drain(now());
  }

  // ---- the canary [C13] ------------------------------------------------------------------------------------------

  // One each time one is due, whoever waits for it. An operator who forces a circuit open wants its provider left
  // alone. Where nobody can be asked, a guard's circuit, the cooldown's end alone decides.
  void send_canary_if_due(time_point at) {
    if (!own->canary_due() || canary || own->mode() == circuit_mode::forced_open)
      return;
    const auto circuit = handle.lock();
    auto plan = circuit ? circuit->canary() : nullptr;
    if (!plan)
      return own->canary_result(own->generation(), true, at);
    canary_of = own->generation();
    const auto sent =
        spawn_canary(self->home_system(), std::move(plan), caf::actor_cast<breaker_actor>(self), ++canaries);
    canary = sent.address();
    self->monitor(sent);
  }

  void canary_ended(const canary_result& result) {
    if (result.number != canaries || !canary)
      return;
    const auto at = now();
    drain(at); // while this one still counts as running, so that no other is sent
    self->demonitor(canary);
    canary = nullptr;
    if (result.problem)
      shared->log(log_level::warning, "circuit " + cell().id() + ": its canary failed: " + *result.problem);
    else
      shared->log(log_level::info, "circuit " + cell().id() + ": its canary passed");
    own->canary_result(canary_of, !result.problem, at);
    publish(at);
  }

  // What every handler does last: the view, then who else wants to know, then the timers.
  void publish(time_point at) {
    send_canary_if_due(at);
    const auto transitions = own->take_transitions();
    cell().publish(*own, at);
    for (const auto& t : transitions)
      announce(t, at);
    if (own->settings().window && (std::exchange(rates_due, false) || !transitions.empty() || at >= rates_until))
      announce_rates(at);
    if (cell().unfinished() && !std::exchange(drain_sent, true))
      self->send(self, drain_reports{});
    set_timer(at);
  }

  // Of a circuit that has gone nobody hears: another may have its id by now.
  bool has_gone() const {
    const auto circuit = handle.lock();
    return !circuit || circuit->retired();
  }

  template <class Event>
  void emit(const Event& e) const {
    if (!has_gone())
      shared->emit(e);
  }

  void announce(const circuit_transition& t, time_point at) const {
    if (has_gone())
      return;
    const auto& id = cell().parts();
    std::optional<duration> wait;
    if (const auto next = own->next_probe_at(); next && t.to == circuit_state::open)
      wait = *next - at;
    shared->emit(circuit_state_event{cell().id(), id.provider, id.model, id.region, t.from, t.to, own->mode(), t.reason,
                                     shared->wall_clock() + (t.at - at), wait});
    shared->log(t.to == circuit_state::open ? log_level::warning : log_level::info, text_of(t, wait));
  }

  std::string text_of(const circuit_transition& t, const std::optional<duration>& wait) const {
    auto text = "circuit " + cell().id() + ": from " + std::string(to_string(t.from)) + " to " +
                std::string(to_string(t.to)) + " (" + std::string(t.reason) + ")";
    return wait ? text + ", next probe in " + format_duration(std::chrono::ceil<milliseconds>(*wait)) : text;
  }

  void announce_rates(time_point at) {
    const auto& id = cell().parts();
    rates_until = own->rates_stable_until(at);
    const auto figures = own->snapshot(at);
    emit(circuit_rates_event{cell().id(), id.provider, id.model, id.region, figures.failure_rate,
                             figures.slow_call_rate});
  }

  void announce_mode() const {
    const auto& id = cell().parts();
    emit(circuit_mode_event{cell().id(), id.provider, id.model, id.region, own->mode(), own->state(),
                            shared->wall_clock()});
  }

  // One timer for all: the circuit's own, that of rates that time alone changes, and the lazy drain of a window while
  // reports keep coming.
  void set_timer(time_point at) {
    if (counted > 0 && own->settings().window && !lazy) {
      lazy = true;
      cell().set_lazy(true);
      lazy_until = at + lazy_interval;
    }
    auto next = own->next_timer();
    if (lazy_until && (!next || *lazy_until < *next))
      next = lazy_until;
    if (rates_until != time_point::max() && (!next || rates_until < *next))
      next = rates_until;
    if (!next || (timer_at && *timer_at <= *next))
      return;
    timer_at = next;
    self->delayed_send(self, std::max(*next - at, duration::zero()), breaker_tick{++timer});
  }

  void tick(std::uint64_t number) {
    if (number != timer)
      return;
    const auto at = now();
    timer_at.reset();
    const bool lazy_due = lazy_until && at >= *lazy_until;
    if (lazy_due)
      lazy_until = at + lazy_interval;
    drain(at);
    if (!lazy_due)
      return;
    if (counted == 0) { // quiet: the next report wakes us again
      lazy = false;
      lazy_until.reset();
      cell().set_lazy(false);
      drain(at);
    } else {
      counted = 0;
    }
  }

  // The same message once more, behind what is still being written.
  template <class Message>
  auto later(const Message& message) {
    return self->delegate(caf::actor_cast<breaker_actor>(self), message);
  }

  caf::result<admission_verdict> probe(const probe_request& request) {
    const auto at = now();
    if (!drain(at))
      return later(request);
    if (at >= request.until) {
      admission_verdict refused;
      refused.generation = own->generation();
      return refused;
    }
    const auto verdict = own->ask(at);
    if (verdict.what == admission_verdict::kind::probe && request.held_by_asker)
      if (const auto asker = caf::actor_cast<caf::actor>(self->current_sender())) {
        holders[verdict.probe] = {asker.address(), verdict.generation};
        self->monitor(asker);
      }
    publish(at);
    return verdict;
  }

  void wake() {
    drain_sent = false;
    drain(now());
  }

  void overflow(const outcome_report& report) {
    held.push_back(report);
    drain(now());
  }

  done set_mode(circuit_mode mode) {
    const auto at = now();
    drain(at);
    own->set_mode(mode);
    publish(at);
    announce_mode();
    return {};
  }

  done reset() {
    const auto at = now();
    drain(at);
    own->reset(at);
    rates_due = true;
    publish(at);
    return {};
  }

  // Of other settings nothing that was counted before means anything.
  done configure() {
    const auto circuit = handle.lock();
    if (!circuit)
      return {};
    const auto settings = circuit->settings();
    if (settings == own->settings())
      return {};
    const auto at = now();
    drain(at);
    const bool had_window = own->settings().window.has_value();
    own->reconfigure(settings, at);
    rates_due = true;
    if (had_window && !settings.window)
      announce_rates(at); // there are none from now on, and none that time changes
    publish(at);
    shared->log(log_level::info, "circuit " + cell().id() + ": has other settings, and begins anew, closed");
    return {};
  }

  caf::result<circuit_description> describe() {
    const auto at = now();
    if (!drain(at))
      return later(describe_circuit{});
    return circuit_description{cell().parts(), own->snapshot(at), at};
  }
};

breaker_actor::behavior_type breaker_behavior(breaker_actor::stateful_pointer<breaker_state> self,
                                              std::shared_ptr<circuit_handle> handle,
                                              std::shared_ptr<const services> shared, circuit_mode mode) {
  auto& s = self->state;
  s.self = self;
  s.handle = handle;
  s.shown = handle->shared_cell();
  s.shared = std::move(shared);
  self->set_down_handler([&s](const caf::down_msg& down) { s.holder_down(down); });
  s.cell().take_over();
  s.cell().set_lazy(false); // the timer died with the predecessor
  s.own.emplace(handle->settings(), s.shared->random(), s.cell().generation() + 1);
  s.own->set_mode(mode);
  s.drain(s.now());
  return {
      [&s](const probe_request& r) { return s.probe(r); },
      [&s](const drain_reports&) { s.wake(); },
      [&s](const overflow_report& r) { s.overflow(r.report); },
      [&s](const set_circuit_mode& m) { return s.set_mode(m.mode); },
      [&s](const reset_circuit&) { return s.reset(); },
      [&s](const describe_circuit&) { return s.describe(); },
      [&s](const configure_circuit&) { return s.configure(); },
      [&s](const canary_result& r) { s.canary_ended(r); },
      [&s](const breaker_tick& t) { s.tick(t.number); },
  };
}

} // namespace

breaker_actor spawn_breaker(caf::actor_system& system, std::shared_ptr<circuit_handle> handle,
                            std::shared_ptr<const services> shared, circuit_mode mode) {
  // It begins with its first message, so that it takes over after the handle shows it: a wake-up or report sent to its
  // predecessor before that is made good by its first drain, and none is sent there after.
  auto breaker = system.spawn<caf::lazy_init>(breaker_behavior, handle, std::move(shared), mode);
  handle->set_breaker(breaker);
  caf::anon_send(breaker, drain_reports{});
  return breaker;
}

} // namespace switchyard
