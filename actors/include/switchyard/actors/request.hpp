#pragma once

#include "switchyard/actors/interfaces.hpp"
#include "switchyard/actors/request_runner.hpp"

#include <caf/actor_system.hpp>

#include <memory>

namespace switchyard {

/// Starts a request actor that takes over a runner. `pending` is what the runner asked for when its former owner gave
/// it up; with none, send begin_request to start it.
request_actor spawn_request(caf::actor_system& system, std::unique_ptr<request_runner> runner,
                            runner_request pending = {});

} // namespace switchyard
