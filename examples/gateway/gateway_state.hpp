#pragma once

#include "cors.hpp"
#include "tenants.hpp"

#include "switchyard/engine/settings.hpp"

#include <atomic>
#include <memory>
#include <utility>

namespace switchyard::gateway {

/// Who may use the gateway, by one configuration. Constant, so thread-safe.
struct access_rules {
  explicit access_rules(const gateway_settings& settings) : tenants(settings.tenants), cors(settings.cors_origins) {}

  gateway::tenants tenants;
  gateway::cors cors;
};

/// What changes while the gateway runs. Thread-safe.
class gateway_state {
public:
  explicit gateway_state(const gateway_settings& settings) { take(settings); }

  /// Takes the rules of another configuration; requests under way keep those they began with.
  void take(const gateway_settings& settings) { rules_.store(std::make_shared<const access_rules>(settings)); }
  std::shared_ptr<const access_rules> rules() const { return rules_.load(); }

  /// New requests are refused from now on.
  void drain() noexcept { draining_.store(true, std::memory_order_release); }
  bool draining() const noexcept { return draining_.load(std::memory_order_acquire); }

private:
  std::atomic<std::shared_ptr<const access_rules>> rules_;
  std::atomic<bool> draining_{false};
};

} // namespace switchyard::gateway
