// Budgets under load, on a thread of their own and CAF's own scheduler.

#include "support/actor_fixture.hpp"
#include "support/memory_stores.hpp"

#include "switchyard/actors/budgets.hpp"

#include <atomic>
#include <thread>

using namespace switchyard;
using namespace switchyard::test;

namespace {

constexpr std::uint64_t limit = 100;
constexpr int callers = 8;
constexpr int calls = 200;

class live_budgets {
public:
  explicit live_budgets(std::shared_ptr<budget_store> store) : config_(false), system(config_) {
    auto made = std::make_shared<services>();
    made->wall_clock = [] { return wall_start; };
    budget_settings b;
    b.requests = limit;
    actor = spawn_budgets(system, {b}, std::move(store), std::move(made));
  }
  ~live_budgets() { caf::anon_send_exit(actor, caf::exit_reason::user_shutdown); }

  bool reserve(caf::scoped_actor& self, budget_reservation id) const {
    bool admitted = false;
    self->request(actor, caf::infinite, reserve_budget{id, "t", "a", budget_amount{1, 0, 0}})
        .receive(
            [&](const budget_answer& a) { admitted = a.verdict.what == flow_input::budget_verdict::kind::admitted; },
            [](const caf::error&) {});
    return admitted;
  }

private:
  actor_config config_;

public:
  caf::actor_system system;
  budget_actor actor;
};

} // namespace

TEST_CASE("threads that reserve, settle and give back at once never hold more than the budget, and lose none of it "
          "[U1]") {
  const auto store = std::make_shared<memory_budget_store>();
  std::atomic<std::uint64_t> held{0}, most{0};
  {
    live_budgets budgets{store};
    std::vector<std::thread> threads;
    for (int t = 0; t < callers; ++t)
      threads.emplace_back([&, t] {
        caf::scoped_actor self{budgets.system};
        for (int i = 0; i < calls; ++i) {
          const auto id = static_cast<budget_reservation>(1 + t * calls + i);
          if (!budgets.reserve(self, id))
            continue;
          const auto now = ++held;
          for (auto seen = most.load(); seen < now && !most.compare_exchange_weak(seen, now);) {
          }
          if (i % 3 == 0) {
            --held; // before it is told: the next one may be admitted as soon as it is
            self->send(budgets.actor, settle_budget{id, std::nullopt});
          } else if (i % 3 == 1) {
            self->send(budgets.actor, settle_budget{id, budget_amount{1, 10, 0}});
          }
        }
      });
    for (auto& t : threads)
      t.join();
    caf::scoped_actor self{budgets.system};
    for (budget_reservation id = callers * calls + 1; budgets.reserve(self, id); ++id)
      ++held;
  }
  CHECK(most <= limit);
  CHECK(held == limit);
  REQUIRE(store->stored().size() == 1);
  CHECK(store->stored()[0].used.requests == limit);
}
