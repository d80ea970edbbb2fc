#pragma once

#include "switchyard/actors/health_board.hpp"
#include "switchyard/actors/interfaces.hpp"
#include "switchyard/actors/services.hpp"
#include "switchyard/engine/settings.hpp"

#include <caf/actor_system.hpp>

#include <memory>
#include <vector>

namespace switchyard {

/// The attempts of a record that count in health [H2].
void append_scored(const telemetry_record& record, std::vector<scored_attempt>& to);

/// Starts the health actor; `history` is what the log held of the window [H5]. With a `board` it publishes the scores
/// there, after each batch and, as they change with time alone, every second.
health_actor spawn_health(caf::actor_system& system, const health_settings& settings,
                          std::vector<scored_attempt> history, std::shared_ptr<const services> services,
                          std::shared_ptr<health_board> board = nullptr);

} // namespace switchyard
