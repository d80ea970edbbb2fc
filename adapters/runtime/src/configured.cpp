#include "configured.hpp"

#include "canary_planner.hpp"

#include "switchyard/engine/fallback_plan.hpp"
#include "switchyard/openai/whole_answer.hpp"

#include <ranges>
#include <set>
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

circuit_id circuit_id_for(const route_settings& route, circuit_scope scope) {
  circuit_id id;
  id.provider = route.provider;
  if (scope != circuit_scope::provider)
    id.model = route.model;
  if (scope == circuit_scope::region)
    id.region = route.region;
  return id;
}

void add_circuit(route_target& target, std::shared_ptr<circuit_handle>& handle, const route_settings& route,
                 const circuit_settings& profile, circuit_registry& registry) {
  handle = registry.add(std::make_shared<circuit_handle>(circuit_id_for(route, profile.scope), profile));
  handle->configure(profile);
  target.circuit = handle->shared_cell();
  target.retries = {target.circuit, &target.circuit->retries};
  target.unresponsive_after = profile.unresponsive_after;
  if (profile.window && profile.window->slow_call_rate)
    target.slow = slow_limit{profile.window->slow_call_after, profile.window->slow_call_per_1k_tokens};
}

// Of a route without a circuit, as before if it had none then.
std::shared_ptr<retry_budget> own_retries(const std::string& route, const configured* before) {
  const auto* target = before ? before->routes->find(route) : nullptr;
  return target && !target->circuit ? target->retries : std::make_shared<retry_budget>();
}

// The streams of the operations are made once.
static_answer_source static_answer_of(const std::string& body, const std::string& model) {
  const auto payload = [](std::string_view type, std::string text) {
    auto made = std::make_shared<answer_payload>();
    made->status = 200;
    made->headers.add("Content-Type", type);
    made->body = std::move(text);
    return std::shared_ptr<const answer_payload>{std::move(made)};
  };
  std::map<std::string_view, std::shared_ptr<const answer_payload>> streams;
  for (const auto op :
       {openai::operation::chat_completions, openai::operation::completions, openai::operation::responses})
    streams[openai::provider_path(op)] = payload("text/event-stream", openai::as_stream(op, body, model));
  return [whole = payload("application/json", body), streams = std::move(streams)](std::string_view path, bool stream) {
    const auto found = stream ? streams.find(path) : streams.end();
    return found == streams.end() ? whole : found->second;
  };
}

void add_chains(topology& t, const config& c) {
  t.chains.resize(t.targets.size());
  for (const auto& [name, index] : t.routes) {
    const auto chain = plan_fallbacks(c.routes, name);
    for (const auto& id : chain.routes)
      t.chains[index].push_back(&t.targets[t.routes.at(id)]);
  }
}

// Each circuit asks for the model of its first active route, in the order of the configuration [C13].
void plan_canaries(const topology& t, const config& c) {
  std::set<circuit_handle*> planned;
  for (const auto& name : c.route_order) {
    const auto* target = t.find(fold_route_id(name));
    const auto& circuit = target ? t.circuits[target->index] : nullptr;
    if (!circuit || !planned.insert(circuit.get()).second)
      continue;
    const auto& profile = c.circuits.at(*c.providers.at(target->provider).circuit);
    circuit->set_canary(profile.canary ? plan_canary(*profile.canary, target->model, t.providers[target->index])
                                       : nullptr);
  }
}

// A provider's calls of before hold slots: they count against the limit of now.
void take_slots(configured& c, const configured* before) {
  for (const auto& [name, settings] : c.settings.providers) {
    auto& slots = c.slots[name];
    if (before && before->slots.contains(name))
      slots = before->slots.at(name);
    else
      slots = std::make_shared<bulkhead>(settings.max_concurrency);
    slots->set_limit(settings.max_concurrency);
  }
}

route_target resolve(const std::string& name, const route_settings& route, const configured& c) {
  const auto& settings = c.settings.providers.at(route.provider);
  route_target target;
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
  target.slots = c.slots.at(route.provider);
  target.is_static = settings.type == provider_settings::kind::static_answer;
  return target;
}

} // namespace

void connect(configured& c, const configured* before, circuit_registry& registry) {
  take_slots(c, before);
  auto t = std::make_shared<topology>();
  for (const auto& [name, route] : c.settings.routes) {
    if (!route.active)
      continue;
    const auto& settings = c.settings.providers.at(route.provider);
    auto target = resolve(name, route, c);
    target.index = t->targets.size();
    std::shared_ptr<circuit_handle> handle;
    if (settings.circuit && !target.is_static)
      add_circuit(target, handle, route, c.settings.circuits.at(*settings.circuit), registry);
    else
      target.retries = own_retries(name, before);
    t->routes.emplace(name, target.index);
    t->static_answers.push_back(target.is_static ? static_answer_of(settings.static_body, route.model) : nullptr);
    t->providers.push_back(target.is_static ? nullptr : c.providers.at(route.provider));
    t->circuits.push_back(std::move(handle));
    t->targets.push_back(std::move(target));
  }
  add_chains(*t, c.settings);
  plan_canaries(*t, c.settings);
  c.routes = std::move(t);
  if (c.settings.health.reorder != health_settings::reorder_mode::off)
    c.health = std::make_shared<health_board>(std::views::keys(c.settings.providers));
}

} // namespace switchyard
