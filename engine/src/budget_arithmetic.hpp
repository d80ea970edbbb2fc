#pragma once

// Sums of what budgets count, in which nothing overflows, falls below zero or is no number.

#include "switchyard/engine/budget.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace switchyard {

inline std::uint64_t sum(std::uint64_t a, std::uint64_t b) noexcept {
  return a > std::numeric_limits<std::uint64_t>::max() - b ? std::numeric_limits<std::uint64_t>::max() : a + b;
}

inline std::uint64_t difference(std::uint64_t a, std::uint64_t b) noexcept {
  return a > b ? a - b : 0;
}

inline double cost_or_none(double cost) noexcept {
  return std::isfinite(cost) && cost > 0 ? cost : 0;
}

inline budget_amount operator+(const budget_amount& a, const budget_amount& b) noexcept {
  return {sum(a.requests, b.requests), sum(a.tokens, b.tokens), a.cost + cost_or_none(b.cost)};
}

inline budget_amount operator-(const budget_amount& a, const budget_amount& b) noexcept {
  return {difference(a.requests, b.requests), difference(a.tokens, b.tokens),
          std::max(0.0, a.cost - cost_or_none(b.cost))};
}

} // namespace switchyard
