#pragma once

#include "switchyard/engine/bulkhead.hpp"
#include "switchyard/engine/circuit_cell.hpp"
#include "switchyard/engine/retry_budget.hpp"
#include "switchyard/engine/settings.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace switchyard {

/// When a call counts as slow [C1]: after + per_1k_tokens * input tokens / 1,000.
struct slow_limit {
  duration after{};
  duration per_1k_tokens{};

  duration for_tokens(std::uint64_t input) const noexcept {
    return after + duration{static_cast<duration::rep>(static_cast<double>(per_1k_tokens.count()) *
                                                       static_cast<double>(input) / 1000.0)};
  }
};

/// One route, resolved: all that a request needs to know of it, with the state that it shares with other requests.
/// Immutable but for what its pointers lead to, which is thread-safe.
struct route_target {
  std::size_t index = 0; ///< position in its topology
  std::string route, provider, model, region;
  bool is_static = false; ///< a fixed answer, given without a call: no circuit, slots or retries are asked
  failure_set trips;
  failure_set falls_over; ///< the table's classes and the route's `fallback_on` [F1]
  retry_settings retry;
  duration deadline{};
  duration unresponsive_after = circuit_settings{}.unresponsive_after; ///< [F2]; the default where there is no circuit
  std::optional<slow_limit> slow;                                      ///< absent without a slow-call rule
  std::optional<std::uint64_t> context_tokens;
  std::optional<price_settings> price;
  std::shared_ptr<circuit_cell> circuit; ///< null: no circuit
  std::shared_ptr<retry_budget> retries; ///< of the circuit; of the route where there is none
  std::shared_ptr<bulkhead> slots;       ///< of the provider [U4]
};

} // namespace switchyard
