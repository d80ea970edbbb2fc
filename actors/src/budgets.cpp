#include "switchyard/actors/budgets.hpp"

#include "store_call.hpp"

#include "switchyard/actors/problem_log.hpp"
#include "switchyard/engine/budget_ledger.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <optional>
#include <utility>
#include <vector>

namespace switchyard {

namespace {

using verdict_kind = flow_input::budget_verdict::kind;

// The end of a window is by the wall clock, which may be set forward while a timer runs.
constexpr std::chrono::minutes longest_wait{1};

// What is admitted is told when it is written down, with all that came until then: see idempotency.cpp.
struct budget_state {
  static inline const char* name = "switchyard.budgets";

  budget_actor::stateful_pointer<budget_state> self = nullptr;
  std::shared_ptr<budget_store> store;
  std::shared_ptr<const services> shared;
  std::optional<budget_ledger> ledger;
  std::vector<caf::typed_response_promise<budget_answer>> admitted_since; ///< the last commit
  bool loaded = false;
  bool scheduled = false;
  std::optional<caf::actor_clock::time_point> wake_at; ///< a commit comes then, by timer
  problem_log problems;

  // One that dies is followed by one that knows only what was written down: who was admitted since is told that nobody
  // knows.
  ~budget_state() {
    for (auto& promise : admitted_since)
      promise.deliver(budget_answer{});
  }

  // Whether what was written down before is in the ledger; until then nothing may be written over it.
  bool load() {
    if (loaded)
      return true;
    const auto ledgers = store_call([&] { return store->load(); });
    if (ledgers)
      ledger->restore(*ledgers, shared->wall_clock());
    else
      report("the budgets cannot be read, and count from zero until they can: " + ledgers.error().message);
    return loaded = static_cast<bool>(ledgers);
  }

  caf::result<budget_answer> reserve(const reserve_budget& r) {
    auto verdict = ledger->reserve(r.id, r.tenant, r.route, r.estimate, shared->wall_clock());
    if (!verdict.admitted)
      return budget_answer{{verdict_kind::refused, verdict.retry_after}, std::move(verdict.message)};
    auto promise = self->make_response_promise<budget_answer>();
    admitted_since.push_back(promise);
    schedule();
    return promise;
  }

  void settle(const settle_budget& s) {
    ledger->settle(s.id, s.actual, shared->wall_clock());
    schedule();
  }

  // What was charged under the budgets of before is written first: the new ones may not know it.
  void configure(const std::vector<budget_settings>& budgets) {
    commit();
    ledger->reconfigure(budgets);
    announce();
  }

  void schedule() {
    if (!std::exchange(scheduled, true))
      self->send(self, commit_budgets{});
  }

  void commit() {
    scheduled = false;
    write();
    for (auto& promise : std::exchange(admitted_since, {}))
      promise.deliver(budget_answer{{verdict_kind::admitted, std::nullopt}, {}});
    announce();
    wake_at_next_end();
  }

  void announce() {
    for (const auto& s : ledger->take_shares(shared->wall_clock()))
      shared->emit(budget_event{s.ledger, s.tenant, s.route, s.window, s.requests, s.tokens, s.cost});
  }

  // Observers hear of a window's end when it ends, not with the next charge.
  void wake_at_next_end() {
    const auto now = self->clock().now();
    if (wake_at && *wake_at <= now)
      wake_at.reset();
    const auto wait = ledger->next_end(shared->wall_clock());
    if (!wait)
      return;
    const auto at = now + std::min<duration>(*wait, longest_wait);
    if (wake_at && *wake_at <= at)
      return;
    wake_at = at;
    self->delayed_send(self, at - now, commit_budgets{});
  }

  // Requests are served whether it succeeds or not [I13].
  void write() {
    if (store && !load())
      return;
    const auto changed = ledger->take_changed(shared->wall_clock());
    if (!store || changed.empty())
      return;
    const auto written = store_call([&] { return store->write(changed); });
    if (written)
      return;
    report("the budgets cannot be written down: " + written.error().message);
    ledger->still_changed(changed);
  }

  void report(const std::string& problem) { problems.report(*shared, self->clock().now(), "budgets", problem); }
};

budget_actor::behavior_type budget_behavior(budget_actor::stateful_pointer<budget_state> self,
                                            std::vector<budget_settings> budgets, std::shared_ptr<budget_store> store,
                                            std::shared_ptr<const services> shared) {
  auto& s = self->state;
  s.self = self;
  s.store = std::move(store);
  s.shared = std::move(shared);
  s.ledger.emplace(std::move(budgets));
  s.commit(); // reads what was written down, and writes what that changes
  self->set_exit_handler([self, &s](const caf::exit_msg& e) {
    s.commit(); // and whoever waits for it is answered
    self->quit(e.reason);
  });
  return {
      [&s](const reserve_budget& r) { return s.reserve(r); },
      [&s](const settle_budget& b) { s.settle(b); },
      [&s](const describe_budgets&) { return s.ledger->describe(s.shared->wall_clock()); },
      [&s](const configure_budgets& c) { s.configure(c.budgets); },
      [&s](const commit_budgets&) { s.commit(); },
  };
}

} // namespace

budget_actor spawn_budgets(caf::actor_system& system, std::vector<budget_settings> budgets,
                           std::shared_ptr<budget_store> store, std::shared_ptr<const services> shared, bool detached) {
  if (detached)
    return system.spawn<caf::detached>(budget_behavior, std::move(budgets), std::move(store), std::move(shared));
  return system.spawn(budget_behavior, std::move(budgets), std::move(store), std::move(shared));
}

} // namespace switchyard
