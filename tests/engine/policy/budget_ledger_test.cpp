#include "switchyard/engine/budget_ledger.hpp"

#include "support/catch.hpp"

#include <rapidcheck.h>

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

using namespace switchyard;

namespace {

constexpr wall_time start{std::chrono::hours{500'000}};

budget_settings budget(std::optional<std::uint64_t> requests, std::optional<std::uint64_t> tokens = {},
                       std::optional<double> cost = {}, duration window = 1h) {
  budget_settings b;
  b.requests = requests;
  b.tokens = tokens;
  b.cost = cost;
  b.window = window;
  return b;
}

budget_settings about(budget_settings b, std::string tenant, std::string route) {
  b.tenant = std::move(tenant);
  b.route = std::move(route);
  return b;
}

struct budget_world {
  explicit budget_world(std::vector<budget_settings> budgets) : ledger(std::move(budgets)) {}

  bool reserve(const budget_amount& estimate = {1, 0, 0}, const std::string& tenant = "acme",
               const std::string& route = "chat") {
    last = ledger.reserve(++id, tenant, route, estimate, now);
    return last.admitted;
  }
  void settle(budget_reservation which, std::optional<budget_amount> actual) { ledger.settle(which, actual, now); }
  budget_figures figures() { return ledger.describe(now).at(0); }

  budget_ledger ledger;
  wall_time now = start;
  budget_reservation id = 0;
  budget_ledger::verdict last;
};

} // namespace

TEST_CASE("a budget admits exactly what it has, and says when there is more [U1]") {
  budget_world w({budget(2)});
  CHECK(w.reserve());
  w.now += 10min;
  CHECK(w.reserve());
  CHECK_FALSE(w.reserve());
  CHECK(w.last.retry_after == 50min); // the window began with the first charge
  CHECK(w.last.message == "the budget of 2 requests in 1h for each tenant and all routes is used up");
  w.now += 50min - 1ns;
  CHECK_FALSE(w.reserve());
  w.now += 1ns;
  CHECK(w.reserve());
  CHECK(w.figures().window_started == w.now); // fixed, from its own first charge
}

TEST_CASE("what was reserved is settled to the real figure, which may exceed the limit [U1]") {
  budget_world w({budget({}, 1000)});
  CHECK(w.reserve({1, 900, 0}));
  CHECK_FALSE(w.reserve({1, 101, 0}));
  w.settle(1, budget_amount{1, 300, 0});
  CHECK(w.reserve({1, 700, 0}));
  w.settle(3, budget_amount{1, 5000, 0});
  CHECK_FALSE(w.reserve({1, 1, 0}));
  CHECK(w.figures().used.tokens == 5300);
  CHECK(w.figures().reserved.tokens == 0);
}

TEST_CASE("a failure gives back all of it, once [U1]") {
  budget_world w({budget(1)});
  CHECK(w.reserve());
  w.settle(1, std::nullopt);
  w.settle(1, std::nullopt); // a second word says nothing
  CHECK(w.reserve());
  w.settle(1, std::nullopt);
  CHECK_FALSE(w.reserve());
  CHECK(w.ledger.reservations() == 1);
}

TEST_CASE("an estimate above the whole budget is refused without a wait: there is none that would help [U1]") {
  budget_world w({budget({}, 1000)});
  CHECK_FALSE(w.reserve({1, 1001, 0}));
  CHECK_FALSE(w.last.retry_after);
  CHECK(w.last.message ==
        "this request is estimated at 1001 tokens, more than the budget of 1000 tokens in 1h for each "
        "tenant and all routes");
  CHECK(w.reserve({1, 900, 0}));
  CHECK_FALSE(w.reserve({1, 200, 0}));
  CHECK(w.last.message ==
        "the budget of 1000 tokens in 1h for each tenant and all routes has 100 left, and this request is "
        "estimated at 200");
  w.now += 1h;
  CHECK(w.ledger.describe(w.now).empty()); // nothing was charged
}

TEST_CASE("each tenant has its own ledger of a budget for all, a named one is for that tenant alone [U1]") {
  budget_world w({budget(1), about(budget(5), "acme", "*")});
  CHECK(w.reserve({1, 0, 0}, "acme"));
  CHECK(w.reserve({1, 0, 0}, "other"));
  CHECK_FALSE(w.reserve({1, 0, 0}, "acme"));
  CHECK(w.ledger.describe(w.now).size() == 3);
}

TEST_CASE("all routes share a budget for all, a named one counts its own, whatever the case [U1, B1]") {
  budget_world w({about(budget(3), "*", "*"), about(budget(1), "*", "Chat")});
  CHECK(w.reserve({1, 0, 0}, "acme", "chat"));
  CHECK_FALSE(w.reserve({1, 0, 0}, "acme", "CHAT"));
  CHECK(w.reserve({1, 0, 0}, "acme", "other"));
  CHECK(w.reserve({1, 0, 0}, "acme", "other"));
  CHECK_FALSE(w.reserve({1, 0, 0}, "acme", "other"));
}

TEST_CASE("a request takes of every budget that covers it, or of none [U1]") {
  budget_world w({budget(10), budget({}, 100)});
  CHECK(w.reserve({1, 100, 0}));
  CHECK_FALSE(w.reserve({1, 1, 0}));
  std::uint64_t requests = 0;
  for (const auto& f : w.ledger.describe(w.now))
    requests = std::max(requests, f.requests ? f.used.requests : 0);
  CHECK(requests == 1);
}

TEST_CASE("the wait is that of the last window that refuses [U1]") {
  budget_world w({budget(1, {}, {}, 1h), budget(1, {}, {}, 24h)});
  CHECK(w.reserve());
  CHECK_FALSE(w.reserve());
  CHECK(w.last.retry_after == 24h);
}

TEST_CASE("costs that fit exactly fit, and none is lost to rounding [U1]") {
  budget_world w({budget({}, {}, 1.0)});
  for (int i = 0; i < 10; ++i)
    CHECK(w.reserve({1, 0, 0.1}));
  CHECK_FALSE(w.reserve({1, 0, 0.1}));
  for (budget_reservation i = 1; i <= 10; ++i)
    w.settle(i, std::nullopt);
  CHECK(w.figures().used.cost >= 0);
  CHECK(w.figures().used.cost < 1e-9);
}

TEST_CASE("senseless amounts neither overflow nor spoil the sum [U1]") {
  budget_world w({budget({}, 1000, 10.0)});
  CHECK_FALSE(w.reserve({1, std::numeric_limits<std::uint64_t>::max(), 0}));
  CHECK(w.reserve({1, 1, std::nan("")}));
  w.settle(w.id, budget_amount{1, 1, -5});
  CHECK(w.reserve({1, 1, 10}));
  CHECK_FALSE(w.reserve({1, 1, 1}));
}

TEST_CASE("what was reserved in one window changes nothing in the next [U1]") {
  budget_world w({budget(1)});
  CHECK(w.reserve());
  w.now += 1h;
  CHECK(w.reserve());
  w.settle(1, std::nullopt);
  CHECK_FALSE(w.reserve());
}

TEST_CASE("a clock set back neither lengthens a window nor begins a new one [C18]") {
  budget_world w({budget(1)});
  CHECK(w.reserve());
  w.now += 40min;
  CHECK_FALSE(w.reserve());
  w.now -= 30 * 24h;
  CHECK_FALSE(w.reserve());
  CHECK(w.last.retry_after == 20min);
  w.now += 20min;
  CHECK(w.reserve());
}

TEST_CASE("a restart keeps what was used, with what was in flight [U1]") {
  budget_world before({budget(2)});
  CHECK(before.reserve());
  CHECK(before.reserve());
  const auto written = before.ledger.take_changed(before.now);
  REQUIRE(written.size() == 1);
  CHECK(before.ledger.take_changed(before.now).empty());
  SECTION("soon after") {
    budget_world w({budget(2)});
    w.now = before.now + 59min;
    w.ledger.restore(written, w.now);
    CHECK_FALSE(w.reserve());
    CHECK(w.last.retry_after == 1min);
    CHECK(w.figures().reserved.requests == 0);
  }
  SECTION("with more to spend") {
    budget_world w({budget(3)});
    w.ledger.restore(written, w.now);
    CHECK(w.reserve());
    CHECK_FALSE(w.reserve());
  }
  SECTION("when the window has ended") {
    budget_world w({budget(2)});
    w.now = before.now + 1h;
    w.ledger.restore(written, w.now);
    CHECK(w.ledger.describe(w.now).empty());
  }
  SECTION("with another window it is another budget") {
    budget_world w({budget(2, {}, {}, 2h)});
    w.ledger.restore(written, w.now);
    CHECK(w.reserve());
  }
  SECTION("with the clock set back: as old as it was when it was written [C18]") {
    before.now += 10min;
    before.settle(1, budget_amount{1, 0, 0});
    const auto later = before.ledger.take_changed(before.now);
    budget_world w({budget(2)});
    w.now = before.now - 24h;
    w.ledger.restore(later, w.now);
    CHECK_FALSE(w.reserve());
    CHECK(w.last.retry_after == 50min);
  }
}

TEST_CASE("what could not be written down is written later, as it is then [U1]") {
  budget_world w({budget(5)});
  w.reserve();
  const auto lost = w.ledger.take_changed(w.now);
  w.ledger.still_changed(lost);
  w.reserve();
  const auto written = w.ledger.take_changed(w.now);
  REQUIRE(written.size() == 1);
  CHECK(written[0].used.requests == 2);
}

TEST_CASE("tenants that come no more leave nothing behind [U1]") {
  budget_world w({budget(1, {}, {}, 1min)});
  for (int i = 0; i < 100'000; ++i) {
    CHECK(w.reserve({1, 0, 0}, "tenant " + std::to_string(i)));
    w.settle(w.id, budget_amount{1, 0, 0});
    if (i % 1000 == 0)
      w.ledger.take_changed(w.now);
    w.now += 100ms;
  }
  CHECK(w.ledger.describe(w.now).size() <= 600);
  CHECK(w.ledger.reservations() == 0);
}

TEST_CASE(
    "whatever is done, no ledger exceeds its limit by what was reserved, and sums are those of a plain list [U1]") {
  const bool held = rc::check([] {
    const auto limit = *rc::gen::inRange<std::uint64_t>(1, 50);
    budget_world w({budget({}, limit, {}, 60s), about(budget(*rc::gen::inRange<std::uint64_t>(1, 6)), "b", "*")});
    struct item {
      std::string tenant;
      std::uint64_t tokens;
      wall_time at;
      bool settled = false;
    };
    std::map<budget_reservation, item> all;
    std::map<std::string, wall_time> began; // of the first budget's windows
    const auto steps = *rc::gen::inRange(0, 80);
    for (int i = 0; i < steps; ++i) {
      w.now += std::chrono::seconds{*rc::gen::weightedElement<int>({{6, 0}, {3, 5}, {1, 61}})};
      if (*rc::gen::inRange(0, 3) > 0) {
        const auto tenant = std::string(1, *rc::gen::inRange('a', 'c'));
        const auto tokens = *rc::gen::inRange<std::uint64_t>(0, 20);
        if (began.contains(tenant) && w.now - began[tenant] >= 60s)
          began.erase(tenant);
        std::uint64_t used = 0;
        for (const auto& [id, x] : all)
          if (x.tenant == tenant && began.contains(tenant) && x.at >= began[tenant])
            used += x.tokens;
        const bool fits = used + tokens <= limit;
        const bool admitted = w.reserve({1, tokens, 0}, tenant);
        RC_ASSERT(fits || !admitted);
        RC_ASSERT(tenant == "b" || admitted == fits);
        if (admitted) {
          began.try_emplace(tenant, w.now);
          all[w.id] = {tenant, tokens, w.now};
        }
      } else if (!all.empty()) {
        auto& [id, x] =
            *std::next(all.begin(), *rc::gen::inRange<std::ptrdiff_t>(0, static_cast<std::ptrdiff_t>(all.size())));
        if (x.settled)
          continue;
        x.settled = true;
        const bool served = *rc::gen::arbitrary<bool>();
        const auto real = *rc::gen::inRange<std::uint64_t>(0, 30);
        w.settle(id, served ? std::optional{budget_amount{1, real, 0}} : std::nullopt);
        x.tokens = served ? real : 0;
      }
    }
  });
  CHECK(held);
}
