#pragma once

#include "switchyard/actors/directory.hpp"
#include "switchyard/actors/health_board.hpp"
#include "switchyard/actors/topology.hpp"
#include "switchyard/engine/bulkhead.hpp"
#include "switchyard/engine/settings.hpp"

#include <map>
#include <memory>
#include <string>
#include <utility>

namespace switchyard {

/// What a configuration comes to. Immutable once it is in use: a reload makes another one, and a request keeps the one
/// that it began with.
struct configured {
  explicit configured(config c)
      : kept_settings(std::make_shared<const config>(std::move(c))), settings(*kept_settings) {}
  configured(const configured&) = delete;
  configured& operator=(const configured&) = delete;

  /// On their own: a program may keep them for longer than the circuits and providers, which end with the runtime.
  std::shared_ptr<const config> kept_settings;
  const config& settings;
  std::map<std::string, std::shared_ptr<provider>> providers; ///< without the static ones
  std::map<std::string, std::shared_ptr<bulkhead>> slots;     ///< by provider; kept over a reload
  std::shared_ptr<const topology> routes;
  std::shared_ptr<health_board> health; ///< null: routes are not sorted by health [B6]
};

/// Fills `slots`, `routes` and `health`. Circuits are taken from the registry, new ones added to it, and told their
/// settings; what the configuration of before, null at the start, shares with this one is kept.
void connect(configured& c, const configured* before, circuit_registry& registry);

} // namespace switchyard
