#pragma once

#include "switchyard/actors/circuit_handle.hpp"
#include "switchyard/actors/interfaces.hpp"
#include "switchyard/actors/services.hpp"

#include <caf/actor_system.hpp>

#include <memory>

namespace switchyard {

/// Starts the breaker of a circuit and makes it the handle's: closed, with a generation after the cell's last one, and
/// publishes that. `mode` carries an operator's mode over from a breaker that died.
breaker_actor spawn_breaker(caf::actor_system& system, std::shared_ptr<circuit_handle> handle,
                            std::shared_ptr<const services> services, circuit_mode mode = circuit_mode::automatic);

} // namespace switchyard
