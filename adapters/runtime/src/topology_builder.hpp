#pragma once

#include "switchyard/actors/directory.hpp"
#include "switchyard/actors/topology.hpp"
#include "switchyard/engine/settings.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace switchyard {

/// The id of the circuit of a route at its profile's scope [C12].
circuit_id circuit_id_for(const route_settings& route, circuit_scope scope);

/// Resolves the routes of a valid configuration: circuits come from the registry or are added to it, providers by
/// name from `providers`. Warnings tell of fallbacks that are skipped [B2].
std::shared_ptr<const topology> build_topology(const config& c,
                                               const std::map<std::string, std::shared_ptr<provider>>& providers,
                                               circuit_registry& registry, std::vector<std::string>& warnings);

} // namespace switchyard
