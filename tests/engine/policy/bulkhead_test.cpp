#include "switchyard/engine/bulkhead.hpp"

#include "support/catch.hpp"

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>
#include <vector>

using namespace switchyard;

TEST_CASE("a bulkhead admits up to its limit and refuses at once [U4]") {
  bulkhead b(2);
  CHECK(b.limit() == 2);
  auto first = b.try_acquire();
  auto second = b.try_acquire();
  CHECK(first);
  CHECK(second);
  CHECK(b.used() == 2);
  CHECK_FALSE(b.try_acquire());
  CHECK(b.used() == 2);
  first.release();
  CHECK(b.used() == 1);
  CHECK(b.try_acquire());
}

TEST_CASE("a bulkhead of none admits none [U4]") {
  bulkhead b(0);
  CHECK_FALSE(b.try_acquire());
}

TEST_CASE("a slot comes back once, by whichever way [U4]") {
  bulkhead b(4);
  {
    auto slot = b.try_acquire();
    CHECK(b.used() == 1);
    slot.release();
    slot.release();
    CHECK(b.used() == 0);
  }
  CHECK(b.used() == 0);
  try {
    const auto slot = b.try_acquire();
    throw b.used();
  } catch (std::uint32_t used_inside) {
    CHECK(used_inside == 1);
  }
  CHECK(b.used() == 0);
}

TEST_CASE("a slot moves with its place [U4]") {
  bulkhead b(4);
  auto slot = b.try_acquire();
  {
    auto moved = std::move(slot);
    CHECK(moved);
    CHECK_FALSE(slot); // NOLINT(bugprone-use-after-move): a moved slot is empty
    CHECK(b.used() == 1);
  }
  CHECK(b.used() == 0);

  auto kept = b.try_acquire();
  kept = b.try_acquire(); // the former place comes back
  CHECK(b.used() == 1);
  auto& same = kept;
  kept = std::move(same);
  CHECK(kept);
  CHECK(b.used() == 1);
  kept = bulkhead::slot();
  CHECK(b.used() == 0);
}

TEST_CASE("no more threads are inside than the limit says [U4]") {
  constexpr std::uint32_t limit = 3;
  constexpr int threads = 8, rounds = 20'000;
  bulkhead b(limit);
  std::atomic<std::uint32_t> inside{0}, most{0}, refused{0};
  {
    std::vector<std::jthread> running;
    for (int t = 0; t < threads; ++t) {
      running.emplace_back([&] {
        for (int i = 0; i < rounds; ++i) {
          const auto slot = b.try_acquire();
          if (!slot) {
            ++refused;
            continue;
          }
          const auto now = ++inside;
          auto seen = most.load();
          while (seen < now && !most.compare_exchange_weak(seen, now)) {
          }
          --inside;
        }
      });
    }
  }
  CHECK(most <= limit);
  CHECK(refused < threads * rounds);
  CHECK(b.used() == 0);
}

TEST_CASE("of many threads exactly as many as the limit get a slot that is kept [U4]") {
  constexpr std::uint32_t limit = 5;
  bulkhead b(limit);
  std::vector<bulkhead::slot> slots(16);
  {
    std::vector<std::jthread> running;
    for (auto& slot : slots)
      running.emplace_back([&b, &slot] { slot = b.try_acquire(); });
  }
  CHECK(std::ranges::count_if(slots, &bulkhead::slot::operator bool) == limit);
  CHECK(b.used() == limit);
}
