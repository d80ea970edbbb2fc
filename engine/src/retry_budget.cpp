#include "switchyard/engine/retry_budget.hpp"

#include <algorithm>
#include <cmath>

namespace switchyard {

// Relaxed throughout: the bucket orders nothing but itself.

void retry_budget::earn(double budget) noexcept {
  if (budget > 0)
    add(static_cast<std::int64_t>(std::llround(std::min(budget, maximum) * static_cast<double>(unit))));
}

void retry_budget::give_back() noexcept {
  add(unit);
}

void retry_budget::add(std::int64_t earned) noexcept {
  constexpr auto full = static_cast<std::int64_t>(maximum) * unit;
  auto held = millionths_.load(std::memory_order_relaxed);
  // A full bucket is only read, so that the path without failures writes nothing shared.
  while (held < full &&
         !millionths_.compare_exchange_weak(held, std::min(held + earned, full), std::memory_order_relaxed)) {
  }
}

bool retry_budget::try_take() noexcept {
  auto held = millionths_.load(std::memory_order_relaxed);
  while (held >= unit) {
    if (millionths_.compare_exchange_weak(held, held - unit, std::memory_order_relaxed))
      return true;
  }
  return false;
}

double retry_budget::tokens() const noexcept {
  return static_cast<double>(millionths_.load(std::memory_order_relaxed)) / static_cast<double>(unit);
}

} // namespace switchyard
