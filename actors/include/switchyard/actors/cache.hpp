#pragma once

#include "switchyard/actors/interfaces.hpp"
#include "switchyard/actors/services.hpp"

#include <caf/actor_system.hpp>

#include <memory>

namespace switchyard {

/// Starts the cache [U3].
cache_actor spawn_cache(caf::actor_system& system, const cache_settings& settings,
                        std::shared_ptr<const services> services);

} // namespace switchyard
