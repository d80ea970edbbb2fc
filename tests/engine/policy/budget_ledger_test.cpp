#include "budget_world.hpp"

#include "support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace switchyard;
using namespace switchyard::test;

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

TEST_CASE("shares are told for each limit, once for each change, and as nothing taken when the window ends [M, U1]") {
  budget_world w({budget(4, 1000)});
  CHECK(w.ledger.take_shares(w.now).empty());
  CHECK_FALSE(w.ledger.next_end(w.now));
  CHECK(w.reserve({1, 500, 0}));
  CHECK(w.reserve({1, 250, 0}));
  const auto taken = w.ledger.take_shares(w.now);
  REQUIRE(taken.size() == 1);
  CHECK(taken[0].tenant == "acme");
  CHECK(taken[0].route == "*");
  CHECK(taken[0].window == 1h);
  CHECK(taken[0].requests == 0.5);
  CHECK(taken[0].tokens == 0.75);
  CHECK_FALSE(taken[0].cost);
  CHECK(w.ledger.take_shares(w.now).empty());
  w.settle(1, budget_amount{1, 2000, 0});
  CHECK(w.ledger.take_shares(w.now).at(0).tokens == 2.25); // the real figure
  CHECK(w.ledger.next_end(w.now) == 1h);
  w.now += 1h - 1ns;
  CHECK(w.ledger.take_shares(w.now).empty());
  w.now += 1ns;
  CHECK(w.ledger.next_end(w.now) == 0ns);
  CHECK(w.ledger.take_shares(w.now).at(0).tokens == 0.0);
  CHECK_FALSE(w.ledger.next_end(w.now));
}

TEST_CASE("a window that ended with a new charge is told with that, and ends anew [M, U1]") {
  budget_world w({budget(4)});
  CHECK(w.reserve());
  CHECK(w.reserve());
  w.now += 90min;
  CHECK(w.reserve());
  CHECK(w.ledger.take_shares(w.now).at(0).requests == 0.25);
  CHECK(w.ledger.next_end(w.now) == 1h);
}

TEST_CASE("the end of a window is told also of tenants that come no more, however many [M, U1]") {
  budget_world w({budget(4)});
  constexpr std::size_t tenants = 3000;
  for (std::size_t i = 0; i < tenants; ++i)
    CHECK(w.reserve({1, 0, 0}, "tenant " + std::to_string(i)));
  CHECK(w.ledger.take_shares(w.now).size() == tenants);
  w.now += 1h;
  CHECK(w.reserve({1, 0, 0}, "another")); // forgets those whose windows have ended
  const auto ended = w.ledger.take_shares(w.now);
  CHECK(ended.size() == tenants + 1);
  CHECK(std::ranges::count(ended, 0.0, &budget_share::requests) == static_cast<std::ptrdiff_t>(tenants));
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
  CHECK(w.last.message == "the budget of 1 cost in 1h for each tenant and all routes is used up");
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

TEST_CASE("what was reserved long ago changes nothing in a ledger that was forgotten and begun anew [U1]") {
  budget_world w({budget(2, {}, {}, 1min)});
  CHECK(w.reserve());
  const auto old = w.id;
  w.now += 1min;
  w.ledger.take_changed(w.now);
  w.ledger.take_shares(w.now);
  for (int i = 0; i < 5000; ++i) // so many that those without a window go
    CHECK(w.reserve({1, 0, 0}, "tenant " + std::to_string(i)));
  CHECK(w.reserve());
  CHECK(w.reserve());
  w.settle(old, std::nullopt);
  CHECK_FALSE(w.reserve());
}

TEST_CASE("tenants leave nothing behind while nothing can be written down [U1, I13]") {
  budget_world w({budget(1, {}, {}, 1min)});
  std::size_t most = 0;
  for (int i = 0; i < 20'000; ++i) {
    CHECK(w.reserve({1, 0, 0}, "tenant " + std::to_string(i)));
    w.settle(w.id, budget_amount{1, 0, 0});
    if (i % 100 == 0) {
      const auto lost = w.ledger.take_changed(w.now);
      most = std::max(most, lost.size());
      w.ledger.still_changed(lost);
      w.ledger.take_shares(w.now);
    }
    w.now += 100ms;
  }
  CHECK(most < 5000);
}

TEST_CASE("a refusal speaks of the budget that refuses longest, and first of one that no wait helps [U1]") {
  budget_world w({budget(2, {}, {}, 1h), budget({}, 100, {}, 24h), about(budget({}, {}, 0.000'5), "*", "chat")});
  CHECK(w.reserve({1, 90, 0}));
  CHECK(w.reserve({1, 10, 0}));
  CHECK_FALSE(w.reserve({1, 50, 0}));
  CHECK(w.last.retry_after == 24h);
  CHECK(w.last.message == "the budget of 100 tokens in 1d for each tenant and all routes is used up");
  CHECK_FALSE(w.reserve({1, 50, 0.000'6}));
  CHECK_FALSE(w.last.retry_after);
  CHECK(w.last.message ==
        "this request is estimated at 0.0006 cost, more than the budget of 0.0005 cost in 1h for each "
        "tenant and route chat");
}

TEST_CASE("other budgets keep the ledgers of those that are about the same, and drop the others' [U1]") {
  budget_world w({budget(2), budget({}, 1000, {}, 2h)});
  CHECK(w.reserve({1, 100, 0}));
  w.ledger.take_shares(w.now);
  w.ledger.reconfigure({budget({}, {}, 5.0, 3h), budget(1)});
  const auto shares = w.ledger.take_shares(w.now);
  REQUIRE(shares.size() == 2);
  CHECK(shares[0].window == 2h); // gone
  CHECK_FALSE(shares[0].tokens);
  CHECK(shares[1].requests == 1.0); // of another limit
  CHECK_FALSE(w.reserve());
  CHECK(w.last.message == "the budget of 1 requests in 1h for each tenant and all routes is used up");
  w.settle(1, budget_amount{1, 900, 0}); // what was reserved of one that is gone is settled without effect
  CHECK(w.ledger.reservations() == 0);
  w.now += 1h;
  CHECK(w.reserve());
}
