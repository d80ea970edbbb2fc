#include "switchyard/engine/retry_budget.hpp"

#include "support/catch.hpp"

#include <atomic>
#include <limits>
#include <thread>
#include <vector>

using namespace switchyard;

namespace {

int take_all(retry_budget& budget) {
  int taken = 0;
  while (budget.try_take())
    ++taken;
  return taken;
}

} // namespace

TEST_CASE("a retry budget starts with ten tokens and ends empty [R3]") {
  retry_budget budget;
  CHECK(budget.tokens() == 10);
  CHECK(take_all(budget) == 10);
  CHECK(budget.tokens() == 0);
  CHECK_FALSE(budget.try_take());
}

TEST_CASE("each first attempt earns its route's share, exactly [R3]") {
  retry_budget budget;
  take_all(budget);
  for (int i = 0; i < 4; ++i) {
    budget.earn(0.2);
    CHECK_FALSE(budget.try_take());
  }
  budget.earn(0.2);
  CHECK(budget.tokens() == 1);
  CHECK(budget.try_take());
  CHECK_FALSE(budget.try_take());
}

TEST_CASE("a retry budget holds at most a hundred tokens [R3]") {
  retry_budget budget;
  for (int i = 0; i < 1000; ++i)
    budget.earn(0.7);
  CHECK(budget.tokens() == 100);
  CHECK(take_all(budget) == 100);
}

TEST_CASE("a share that is none earns nothing, an absurd one fills [R3]") {
  retry_budget budget;
  budget.earn(0);
  budget.earn(-1);
  budget.earn(std::numeric_limits<double>::quiet_NaN());
  CHECK(budget.tokens() == 10);
  budget.earn(std::numeric_limits<double>::infinity());
  CHECK(budget.tokens() == 100);
}

TEST_CASE("no token is lost or taken twice between threads [R3]") {
  constexpr int threads = 4, rounds = 20'000;
  retry_budget budget;
  std::atomic<int> taken{0};
  {
    std::vector<std::jthread> running;
    for (int t = 0; t < threads; ++t) {
      running.emplace_back([&] {
        int mine = 0;
        for (int i = 0; i < rounds; ++i) {
          // A token's worth at once, taken again at once: the bucket cannot be full, so nothing overflows.
          budget.earn(1);
          mine += budget.try_take() ? 1 : 0;
        }
        taken += mine;
      });
    }
  }
  CHECK(budget.tokens() == 10 + threads * rounds - taken);
  CHECK(taken == threads * rounds); // a taker's own token, or one as good, was always there
}

TEST_CASE("an empty bucket gives threads exactly what they earn together [R3]") {
  constexpr int threads = 4, rounds = 5'000;
  retry_budget budget;
  take_all(budget);
  std::atomic<int> taken{0};
  {
    std::vector<std::jthread> running;
    for (int t = 0; t < threads; ++t) {
      running.emplace_back([&] {
        for (int i = 0; i < rounds; ++i) {
          budget.earn(0.25);
          if (budget.try_take())
            ++taken;
        }
      });
    }
  }
  const int left = take_all(budget);
  CHECK(taken + left == threads * rounds / 4);
}
