#pragma once

// Whether a request fits in what is left of a budget, and how a person is told that it does not [U1].

#include "switchyard/engine/budget.hpp"
#include "switchyard/engine/settings.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace switchyard {

/// A unit of a budget in which a request does not fit.
struct budget_shortage {
  std::string_view unit;
  std::string limit, left, wanted; ///< `left` is empty when nothing is
  bool hopeless = false;           ///< the request alone is more than the limit
};

/// Nothing when it fits. A unit in which it never will comes before the others.
std::optional<budget_shortage> shortage_of(const budget_settings& budget, const budget_amount& used,
                                           const budget_amount& wanted);

std::string refusal(const budget_settings& budget, const budget_shortage& lacks);

} // namespace switchyard
