#pragma once

#include "switchyard/engine/budget_ledger.hpp"

#include <optional>
#include <string>
#include <vector>

namespace switchyard::test {

inline constexpr wall_time start{std::chrono::hours{500'000}};

inline budget_settings budget(std::optional<std::uint64_t> requests, std::optional<std::uint64_t> tokens = {},
                              std::optional<double> cost = {}, duration window = 1h) {
  budget_settings b;
  b.requests = requests;
  b.tokens = tokens;
  b.cost = cost;
  b.window = window;
  return b;
}

inline budget_settings about(budget_settings b, std::string tenant, std::string route) {
  b.tenant = std::move(tenant);
  b.route = std::move(route);
  return b;
}

/// A ledger with its clock and its callers.
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

} // namespace switchyard::test
