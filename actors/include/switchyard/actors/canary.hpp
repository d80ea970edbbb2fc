#pragma once

// The synthetic request that decides whether a circuit becomes half-open [C13].

#include "switchyard/actors/interfaces.hpp"
#include "switchyard/actors/provider.hpp"

#include <caf/actor_system.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace switchyard {

/// What a circuit's canary sends, and how its answer is judged. Immutable; shared by all canaries of the circuit.
struct canary_plan {
  std::shared_ptr<provider> target; ///< never null
  provider_request request;
  duration timeout{};
  /// Why the answer does not pass, for the log; nothing when it does. Called on an actor's thread, must not block.
  std::function<std::optional<std::string>(const provider_result&)> problem;
};

/// Sends the request once, past every permit, slot and budget, and tells the breaker what came of it: a `canary_result`
/// with that number, once, however it ends. Ends by itself, also when the breaker dies; ended early it tells nobody.
canary_actor spawn_canary(caf::actor_system& system, std::shared_ptr<const canary_plan> plan, breaker_actor breaker,
                          std::uint64_t number);

} // namespace switchyard
