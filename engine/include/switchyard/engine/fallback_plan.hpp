#pragma once

#include "switchyard/engine/settings.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace switchyard {

/// A route id as it is compared everywhere: surrounding white space trimmed, ASCII letters in lower case [B1].
std::string fold_route_id(std::string_view id);

/// A cleaned chain.
struct fallback_chain {
  std::vector<std::string> routes;           ///< folded ids: the primary, then its fallbacks in order
  std::vector<std::string> skipped_missing;  ///< named but not there: to be warned of [B2]
  std::vector<std::string> skipped_inactive; ///< named but inactive: the same
};

/// The chain of a primary [B1, B2]: the primary itself, then its `fallback` ids trimmed and folded, the first
/// occurrence of each, without itself, without missing and inactive ones. Shallow. `routes` is keyed by folded id.
/// The primary should be in `routes`; of one that is not, the chain is itself alone. Whether the primary is active is
/// not looked at: an inactive one is refused before anybody plans its fallbacks.
fallback_chain plan_fallbacks(const std::map<std::string, route_settings>& routes, std::string_view primary);

/// Reorders a chain by health score, descending and stable; an unknown score counts as 0.5; nothing is dropped [B6].
/// `scores[i]` belongs to `chain[i]`. With `fallbacks` the first entry keeps its place.
/// Returns the indices in their new order.
std::vector<std::size_t> reorder_by_health(std::span<const std::optional<double>> scores,
                                           health_settings::reorder_mode mode);

} // namespace switchyard
