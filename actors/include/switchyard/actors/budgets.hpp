#pragma once

#include "switchyard/actors/interfaces.hpp"
#include "switchyard/actors/services.hpp"
#include "switchyard/actors/stores.hpp"

#include <caf/actor_system.hpp>

#include <memory>
#include <vector>

namespace switchyard {

/// Starts the owner of the budgets [U1]. `store` may be null: a restart resets them then. A store that fails is logged
/// once a minute, and budgets go on in memory; what could not be written is with the next commit, and what could not be
/// read is added as soon as it can be. `detached` gives it a thread of its own; false only under a test coordinator.
budget_actor spawn_budgets(caf::actor_system& system, std::vector<budget_settings> budgets,
                           std::shared_ptr<budget_store> store, std::shared_ptr<const services> services,
                           bool detached = true);

} // namespace switchyard
