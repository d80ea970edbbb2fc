#include "budget_world.hpp"

#include "support/catch.hpp"

#include <limits>

using namespace switchyard;
using namespace switchyard::test;

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
  SECTION("its share is told, until the old window ends [M]") {
    budget_world w({budget(4)});
    w.now = before.now + 30min;
    CHECK(w.reserve());
    w.ledger.restore(written, w.now);
    CHECK(w.ledger.take_shares(w.now).at(0).requests == 0.75);
    CHECK(w.ledger.next_end(w.now) == 30min);
    w.now += 30min;
    CHECK(w.ledger.take_shares(w.now).at(0).requests == 0.0);
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

TEST_CASE("a clock set forward ends a window early, and set back again it ends no window twice [C18]") {
  budget_world w({budget(1)});
  CHECK(w.reserve());
  w.now += 365 * 24h;
  CHECK(w.reserve());
  w.now -= 365 * 24h;
  CHECK_FALSE(w.reserve());
  CHECK(w.last.retry_after == 1h);
  w.now += 1h;
  CHECK(w.reserve());
}

TEST_CASE("a window read back with the clock set back ends, however often the program restarts [C18]") {
  budget_world w({budget(1)});
  CHECK(w.reserve());
  auto written = w.ledger.take_changed(w.now);
  w.now -= 24h;
  for (int restarts = 0; restarts < 2; ++restarts) {
    w.ledger = budget_ledger({budget(1)});
    w.ledger.restore(written, w.now);
    for (const auto& again : w.ledger.take_changed(w.now))
      written = {again};
    CHECK_FALSE(w.reserve());
    w.now += 30min;
  }
  CHECK(w.reserve());
}

TEST_CASE("no point in time that is read back holds a window for longer than it lasts [C18]") {
  constexpr auto first = wall_time::min(), last = wall_time::max();
  budget_world before({budget(1)});
  CHECK(before.reserve());
  auto written = before.ledger.take_changed(before.now);
  REQUIRE(written.size() == 1);
  for (const auto started : {first, start - 1h, start, start + 10 * 24h, last})
    for (const auto written_at : {first, start, start + 10 * 24h, last}) {
      written[0].window_started = started;
      written[0].written_at = written_at;
      budget_world w({budget(1)});
      w.ledger.restore(written, w.now);
      if (!w.reserve())
        CHECK(w.last.retry_after <= 1h);
    }
}

TEST_CASE("what is read back late is added to what came meanwhile, in the window that ends first [U1]") {
  budget_world before({budget(5)});
  CHECK(before.reserve());
  CHECK(before.reserve());
  const auto written = before.ledger.take_changed(before.now);
  budget_world w({budget(5)});
  w.now += 20min;
  CHECK(w.reserve());
  CHECK(w.reserve());
  w.ledger.restore(written, w.now);
  CHECK(w.figures().used.requests == 4);
  w.settle(1, std::nullopt);
  CHECK(w.figures().used.requests == 3);
  CHECK(w.figures().window_ends == start + 1h);
  CHECK(w.ledger.take_changed(w.now).size() == 1);
}

TEST_CASE("what names no budget of this configuration is passed over [U1]") {
  budget_world before({budget(1), about(budget(1), "acme", "chat")});
  CHECK(before.reserve());
  auto written = before.ledger.take_changed(before.now);
  for (const auto& name : {std::string{}, std::string(3, '\0'), std::string{"*"}, std::string(9, '\0')}) {
    written.push_back(written[0]);
    written.back().ledger = name;
  }
  budget_world w({about(budget(1), "acme", "chat")});
  w.ledger.restore(written, w.now);
  REQUIRE(w.ledger.describe(w.now).size() == 1);
  CHECK(w.figures().route == "chat");
  CHECK(w.figures().tenant == "acme");
}
