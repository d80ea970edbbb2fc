#pragma once

// What budgets are counted in [U1], and what is shown and written down of them. The counting is in budget_ledger.hpp.

#include "switchyard/engine/time.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace switchyard {

/// What a request takes of its budgets, estimated or real.
struct budget_amount {
  std::uint64_t requests = 0;
  std::uint64_t tokens = 0; ///< input and output
  double cost = 0;          ///< in the currency of the prices; 0 where there is no price
};

/// Names one reservation; chosen by who reserves, unique in the process, so that it can be given back even when its
/// answer never came.
using budget_reservation = std::uint64_t;

/// The state of one ledger, as it is written down: one per budget and tenant.
struct stored_budget {
  std::string ledger;         ///< names the budget and the tenant; see budget_ledger.hpp
  duration window{};          ///< how long a window is
  wall_time window_started{}; ///< with its first charge
  wall_time written_at{};     ///< tells how old the window was, should the clock be set back [C18]
  budget_amount used;         ///< settled and reserved in this window
};

/// What a tenant has taken of a budget: of each limit the share that is used, nothing where there is none.
struct budget_share {
  std::string ledger, tenant; ///< as in stored_budget and budget_figures
  std::string route;
  duration window{};
  std::optional<double> requests, tokens, cost;
};

/// A ledger as the admin plane shows it.
struct budget_figures {
  std::string tenant; ///< whose it is; empty without tenants
  std::string route;  ///< "*" for all
  duration window{};
  std::optional<std::uint64_t> requests, tokens; ///< limits
  std::optional<double> cost;
  budget_amount used;                      ///< settled and reserved
  budget_amount reserved;                  ///< the part of it that is not settled yet
  std::optional<wall_time> window_started; ///< nothing before the first charge of a window
  std::optional<wall_time> window_ends;    ///< as above
};

} // namespace switchyard
