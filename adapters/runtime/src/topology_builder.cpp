#include "topology_builder.hpp"

#include "switchyard/engine/fallback_plan.hpp"

#include <utility>

namespace switchyard {

namespace {

failure_set falls_over_of(const route_settings& route) {
  failure_set set = route.fallback_on;
  for (int i = 0; i < failure_class_count; ++i)
    if (const auto f = static_cast<failure_class>(i); traits(f).falls_over)
      set.insert(f);
  return set;
}

void add_circuit(route_target& target, std::shared_ptr<circuit_handle>& handle, const route_settings& route,
                 const circuit_settings& profile, circuit_registry& registry) {
  handle = registry.add(std::make_shared<circuit_handle>(circuit_id_for(route, profile.scope), profile));
  target.circuit = handle->shared_cell();
  target.retries = {target.circuit, &target.circuit->retries};
  target.unresponsive_after = profile.unresponsive_after;
  if (profile.window && profile.window->slow_call_rate)
    target.slow = slow_limit{profile.window->slow_call_after, profile.window->slow_call_per_1k_tokens};
}

void add_chains(topology& t, const config& c, std::vector<std::string>& warnings) {
  t.chains.resize(t.targets.size());
  for (const auto& [name, index] : t.routes) {
    const auto chain = plan_fallbacks(c.routes, name);
    for (const auto& id : chain.routes)
      t.chains[index].push_back(&t.targets[t.routes.at(id)]);
    for (const auto& id : chain.skipped_missing)
      warnings.push_back("route " + name + ": fallback " + id + " is skipped: there is no such route");
    for (const auto& id : chain.skipped_inactive)
      warnings.push_back("route " + name + ": fallback " + id + " is skipped: it is inactive");
  }
}

} // namespace

circuit_id circuit_id_for(const route_settings& route, circuit_scope scope) {
  circuit_id id;
  id.provider = route.provider;
  if (scope != circuit_scope::provider)
    id.model = route.model;
  if (scope == circuit_scope::region)
    id.region = route.region;
  return id;
}

std::shared_ptr<const topology> build_topology(const config& c,
                                               const std::map<std::string, std::shared_ptr<provider>>& providers,
                                               circuit_registry& registry, std::vector<std::string>& warnings) {
  auto t = std::make_shared<topology>();
  std::map<std::string, std::shared_ptr<bulkhead>> slots;
  for (const auto& [name, settings] : c.providers)
    slots[name] = std::make_shared<bulkhead>(settings.max_concurrency);
  for (const auto& [name, route] : c.routes) {
    if (!route.active)
      continue;
    const auto& settings = c.providers.at(route.provider);
    route_target target;
    target.index = t->targets.size();
    target.route = name;
    target.provider = route.provider;
    target.model = route.model;
    target.region = route.region;
    target.trips = settings.trips;
    target.falls_over = falls_over_of(route);
    target.retry = route.retry;
    target.deadline = route.deadline;
    target.context_tokens = route.context_tokens;
    if (const auto price = settings.prices.find(route.model); price != settings.prices.end())
      target.price = price->second;
    target.slots = slots.at(route.provider);
    std::shared_ptr<circuit_handle> handle;
    if (settings.circuit)
      add_circuit(target, handle, route, c.circuits.at(*settings.circuit), registry);
    else
      target.retries = std::make_shared<retry_budget>();
    t->routes.emplace(name, target.index);
    t->targets.push_back(std::move(target));
    t->circuits.push_back(std::move(handle));
    t->providers.push_back(providers.at(route.provider));
  }
  add_chains(*t, c, warnings);
  return t;
}

} // namespace switchyard
