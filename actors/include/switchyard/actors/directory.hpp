#pragma once

#include "switchyard/actors/circuit_handle.hpp"
#include "switchyard/actors/interfaces.hpp"
#include "switchyard/actors/services.hpp"

#include <caf/actor_system.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace switchyard {

/// The circuits of a runtime by id, for those who hold no handle yet. Thread-safe; the lock is for looking up by
/// name only, never on the way of a call.
class circuit_registry {
public:
  /// The circuit of that id, or null.
  std::shared_ptr<circuit_handle> find(const std::string& id) const;
  /// Adds a circuit; returns the one that is there if the id is taken.
  std::shared_ptr<circuit_handle> add(std::shared_ptr<circuit_handle> handle);
  /// Forgets a circuit: its breaker goes with the last who still holds it. The handle, or null when it is not there.
  std::shared_ptr<circuit_handle> remove(const std::string& id);
  std::vector<std::shared_ptr<circuit_handle>> all() const;

private:
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<circuit_handle>> circuits_;
};

/// Starts the directory: it spawns a breaker for each circuit of the registry and replaces one that dies by a
/// closed one [C14]. A circuit that is added to the registry later gets its breaker with the next message to the
/// directory.
directory_actor spawn_directory(caf::actor_system& system, std::shared_ptr<circuit_registry> registry,
                                std::shared_ptr<const services> services);

} // namespace switchyard
