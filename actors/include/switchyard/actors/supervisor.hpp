#pragma once

#include "switchyard/actors/interfaces.hpp"
#include "switchyard/actors/services.hpp"

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace switchyard {

/// An actor that must always be there.
struct supervised {
  std::string name; ///< for the log
  /// Starts it, puts it where it is looked up, and returns it. Called on the supervisor's thread, first when that
  /// starts; may take its time.
  std::function<caf::actor()> start;
};

/// Starts all of them, and each one anew when it dies: at once, or after a second should it have lived for less. One
/// that ends with user_shutdown has ended on purpose. `detached` gives it a thread of its own; false only under a test
/// coordinator. Answers `await_start` when all have been started.
supervisor_actor spawn_supervisor(caf::actor_system& system, std::vector<supervised> all,
                                  std::shared_ptr<const services> services, bool detached = true);

} // namespace switchyard
