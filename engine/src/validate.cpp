#include "switchyard/engine/validate.hpp"

#include "field_checker.hpp"
#include "switchyard/engine/fallback_plan.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <utility>

namespace switchyard {
namespace {

/// The keys of a map, quoted, for a message: `"a", "b"`.
template <class Map>
std::string known_names(const Map& map) {
  constexpr std::size_t most = 10;
  std::string names;
  std::size_t shown = 0;
  for (const auto& entry : map) {
    if (shown == most)
      return names + " and " + std::to_string(map.size() - most) + " more";
    names += (shown++ ? ", " : "") + json_quoted(entry.first);
  }
  return names.empty() ? "none" : names;
}

/// By the key of a route its name as it was given.
std::map<std::string, std::string> written_routes(const config& settings) {
  std::map<std::string, std::string> written;
  for (const auto& name : settings.route_order)
    written.emplace(settings.routes.contains(name) ? name : fold_route_id(name), name);
  return written;
}

/// The checks of fields against each other, one function per part.
class cross_checker {
public:
  cross_checker(const config& settings, validation& found)
      : settings_(settings), found_(found), written_routes_(written_routes(settings)) {}

  void check() {
    for (const auto& [name, circuit] : settings_.circuits)
      check_circuit(circuit, child_pointer("/circuits", name));
    for (const auto& [name, provider] : settings_.providers)
      check_provider(provider, child_pointer("/providers", name));
    check_route_names();
    for (const auto& [name, route] : settings_.routes)
      check_route(route, name, route_pointer(name));
    for (std::size_t i = 0; i < settings_.budgets.size(); ++i)
      check_budget(settings_.budgets[i], child_pointer("/budgets", std::to_string(i)));
    check_tenants();
    check_admin();
    if (settings_.cluster)
      check_cluster(*settings_.cluster);
  }

private:
  void check_circuit(const circuit_settings& circuit, const std::string& pointer) {
    if (circuit.max_cooldown < circuit.cooldown)
      add(pointer + "/max_cooldown", json_quoted(format_duration(circuit.max_cooldown)),
          "accepted: at least the cooldown, " + format_duration(circuit.cooldown));
    if (!circuit.window)
      return;
    const auto& window = *circuit.window;
    if (window.type == window_settings::kind::count && window.minimum_calls > window.size)
      add(pointer + "/window/minimum_calls", std::to_string(window.minimum_calls),
          "accepted: at most the size of the window, " + std::to_string(window.size));
    if (!window.failure_rate && !window.slow_call_rate)
      add(pointer + "/window", "", "a window needs \"failure_rate\" or \"slow_call_rate\", or it would never trip");
  }

  void check_provider(const provider_settings& provider, const std::string& pointer) {
    using enum provider_settings::kind;
    if (provider.type == openai && provider.base_url.empty())
      add(pointer + "/base_url", "", "is required: " + accepted(text_rule{text_form::base_url}));
    if (provider.type == static_answer && provider.static_body.empty())
      add(pointer + "/body", "", "is required for a static provider: an object");
    // "default" is there as soon as the configuration is complete.
    if (provider.circuit && *provider.circuit != "default" && !settings_.circuits.contains(*provider.circuit))
      add(pointer + "/circuit", json_quoted(*provider.circuit),
          "no such circuit profile; accepted: null, \"default\" or a name in /circuits: " +
              known_names(settings_.circuits),
          "/circuits");
    if (!provider.api_key.empty() && !is_bearer_key(provider.api_key.reveal()))
      add(pointer + "/api_key_env", "", "the key holds a space, a line break or another character that no key has");
    check_header_names(provider, pointer);
    for (const auto& [model, price] : provider.prices) {
      if (model.empty())
        add(pointer + "/prices/", "", "accepted: the name of a model");
    }
  }

  /// Header names compare without case: two that differ only in case would be sent twice.
  void check_header_names(const provider_settings& provider, const std::string& pointer) {
    std::set<std::string> seen;
    for (const auto& [name, value] : provider.headers) {
      if (!seen.insert(fold_route_id(name)).second)
        found_.problems.push_back(
            {child_pointer(pointer + "/headers", name), "", "this header is given twice, in different case", {}, true});
    }
  }

  /// Of several routes with one id [B1] the first is right.
  void check_route_names() {
    std::map<std::string, std::string> seen;
    for (const auto& name : settings_.route_order) {
      const auto [first, is_new] = seen.emplace(fold_route_id(name), name);
      if (!is_new && first->second != name)
        found_.problems.push_back(
            {child_pointer("/routes", name),
             "",
             "is the same route as " + json_quoted(first->second) + ": names of routes compare without regard to case",
             {},
             true});
    }
  }

  void check_route(const route_settings& route, const std::string& key, const std::string& pointer) {
    if (!route.provider.empty() && !settings_.providers.contains(route.provider))
      add(pointer + "/provider", json_quoted(route.provider),
          "no such provider; accepted: a name in /providers: " + known_names(settings_.providers), "/providers");
    if (route.retry.max_delay < route.retry.base_delay)
      add(pointer + "/retry/max_delay", json_quoted(format_duration(route.retry.max_delay)),
          "accepted: at least the base delay, " + format_duration(route.retry.base_delay));
    for (std::size_t i = 0; i < route.fallback.size(); ++i) {
      const auto fallback = settings_.routes.find(fold_route_id(route.fallback[i]));
      const auto place = pointer + "/fallback/" + std::to_string(i) + ": " + json_quoted(route.fallback[i]);
      if (fallback == settings_.routes.end())
        found_.warnings.push_back(place + ": no such route; it is skipped");
      else if (!fallback->second.active)
        found_.warnings.push_back(place + ": this route is inactive; it is skipped");
      else if (fallback->first == fold_route_id(key))
        found_.warnings.push_back(place + ": a route is no fallback of its own; it is skipped");
    }
  }

  void check_budget(const budget_settings& budget, const std::string& pointer) {
    if (budget.tenant != "*" && !settings_.gateway.tenants.contains(budget.tenant))
      add(pointer + "/tenant", json_quoted(budget.tenant),
          "no such tenant; accepted: \"*\" or a name in /gateway/tenants: " + known_names(settings_.gateway.tenants),
          "/gateway/tenants");
    if (budget.route != "*" && !settings_.routes.contains(fold_route_id(budget.route)))
      add(pointer + "/route", json_quoted(budget.route),
          "no such route; accepted: \"*\" or a name in /routes: " + known_names(settings_.routes), "/routes");
    if (!budget.requests && !budget.tokens && !budget.cost)
      add(pointer, "", "a budget needs \"requests\", \"tokens\" or \"cost\"");
    if (budget.cost)
      warn_of_unpriced(budget, pointer);
  }

  // A cost that is not known counts nothing, so a budget of cost would never end there [U2]: whoever serves a request,
  // it counts for the route that was asked for.
  void warn_of_unpriced(const budget_settings& budget, const std::string& pointer) {
    std::set<std::string> serving;
    for (const auto& [name, route] : settings_.routes)
      if (route.active && (budget.route == "*" || fold_route_id(budget.route) == name))
        std::ranges::copy(plan_fallbacks(settings_.routes, name).routes, std::inserter(serving, serving.end()));
    for (const auto& [name, route] : settings_.routes) {
      const auto provider = settings_.providers.find(route.provider);
      if (serving.contains(name) && provider != settings_.providers.end() &&
          !provider->second.prices.contains(route.model))
        found_.warnings.push_back(pointer + "/cost: route " + json_quoted(name) + " has no price for its model " +
                                  json_quoted(route.model) + "; what it serves counts nothing");
    }
  }

  void check_tenants() {
    std::map<std::string_view, std::string> owners; // by key
    for (const auto& [name, tenant] : settings_.gateway.tenants) {
      const auto pointer = child_pointer("/gateway/tenants", name) + "/key_env";
      if (tenant.key.empty()) {
        if (holds(text_rule{text_form::variable}, tenant.key_env)) // otherwise the name has its own problem
          add(pointer, "", "the tenant has no key");
      } else if (!is_bearer_key(tenant.key.reveal()))
        add(pointer, "", "the key holds a space, a line break or another character that no key has");
      else if (const auto [owner, is_new] = owners.emplace(tenant.key.reveal(), name); !is_new)
        add(pointer, "", "has the same key as the tenant " + json_quoted(owner->second));
    }
  }

  void check_admin() {
    const auto& admin = settings_.admin;
    if (!admin.token.empty() && !is_bearer_key(admin.token.reveal()))
      add("/admin/token_env", "", "the token holds a space, a line break or another character that no token has");
    const auto address = parse_host_port(admin.listen);
    if (address && !is_loopback(address->host) && admin.token.empty() && admin.token_env.empty())
      add("/admin/listen", json_quoted(admin.listen),
          "an admin plane that is not on loopback needs \"token_env\"; accepted without one: a loopback address");
  }

  void check_cluster(const cluster_settings& cluster) {
    if (cluster.peers.contains(cluster.node))
      add(child_pointer("/cluster/peers", cluster.node), "", "a node is not its own peer");
    const std::array files{!cluster.certificate.empty(), !cluster.key.empty(), !cluster.ca.empty()};
    const auto given = std::ranges::count(files, true);
    if (given != 0 && given != std::ssize(files))
      add("/cluster/tls", "", "accepted: \"certificate\", \"key\" and \"ca\" together, or null");
    if (given == 0 && !cluster_is_local(cluster))
      add("/cluster/tls", "", "is required: nodes that are not all on loopback speak mutual TLS");
  }

  static bool cluster_is_local(const cluster_settings& cluster) {
    // What is no address has its own problem.
    const auto local = [](const std::string& text) {
      const auto address = parse_host_port(text);
      return !address || is_loopback(address->host);
    };
    return local(cluster.listen) &&
           std::ranges::all_of(cluster.peers, [&](const auto& peer) { return local(peer.second); });
  }

  std::string route_pointer(const std::string& key) const {
    const auto written = written_routes_.find(key);
    return child_pointer("/routes", written == written_routes_.end() ? key : written->second);
  }

  void add(std::string pointer, std::string value, std::string message, std::string looked_in = {}) {
    found_.problems.push_back({std::move(pointer), std::move(value), std::move(message), std::move(looked_in)});
  }

  const config& settings_;
  validation& found_;
  std::map<std::string, std::string> written_routes_;
};

} // namespace

void detail::field_checker::check_header(const std::string& name, const header_value& value,
                                         const std::string& pointer) {
  // These frame the message, name its target or belong to the connection: the HTTP client writes them.
  constexpr std::array<std::string_view, 10> framing{
      "host",    "content-length", "transfer-encoding", "connection", "upgrade", "keep-alive", "te",
      "trailer", "expect",         "accept-encoding"};
  if (!is_header_name(name))
    add(pointer, "", "this name is not accepted: a header's name is made of letters, digits and !#$%&'*+-.^_`|~");
  else if (const auto folded = fold_route_id(name);
           std::ranges::find(framing, folded) != framing.end() || folded.starts_with("proxy-"))
    add(pointer, "", "this header cannot be set; the connection to the provider decides it");
  if (!value.secret_env.empty())
    check(value.secret_env, text_rule{text_form::variable}, child_pointer(pointer, "env"));
  if (!is_header_value(value.text) || !is_header_value(value.value.reveal()))
    add(pointer, "", "the header's value holds a line break or another control character");
}

namespace {

/// Those that `route_order` names come first: of several with one id the first is the one that it stands for.
void fold_routes(config& settings) {
  auto given = std::exchange(settings.routes, {});
  auto names = settings.route_order;
  std::set<std::string> listed{names.begin(), names.end()};
  for (const auto& name : settings.route_order)
    listed.insert(fold_route_id(name));
  for (const auto& [name, route] : given)
    names.push_back(name);
  for (const auto& name : names) {
    auto route = given.extract(name);
    if (route.empty())
      continue; // taken already, or known by its id since an earlier call
    const auto id = fold_route_id(name);
    const bool is_taken = id != name && (given.contains(id) || settings.routes.contains(id));
    if (listed.insert(is_taken ? name : id).second)
      settings.route_order.push_back(name);
    route.mapped().name = id;
    route.key() = is_taken ? name : id;
    settings.routes.insert(std::move(route));
  }
}

} // namespace

void complete(config& settings) {
  settings.circuits.try_emplace("default");
  for (auto& [name, provider] : settings.providers)
    provider.name = name;
  for (auto& [name, tenant] : settings.gateway.tenants)
    tenant.name = name;
  fold_routes(settings);
}

validation validate(const config& settings) {
  validation found;
  detail::field_checker{found.problems, written_routes(settings)}.check_object(settings, "");
  cross_checker{settings, found}.check();
  auto unavailable = unavailable_features(settings);
  std::ranges::move(unavailable, std::back_inserter(found.problems));
  return found;
}

std::string child_pointer(std::string_view parent, std::string_view token) {
  std::string pointer(parent);
  pointer += '/';
  for (const char c : token) {
    if (c == '~')
      pointer += "~0";
    else if (c == '/')
      pointer += "~1";
    else
      pointer += c;
  }
  return pointer;
}

std::string json_quoted(std::string_view text) {
  constexpr std::string_view hex = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      out.append("\\").push_back(c);
    else if (byte < 0x20 || byte == 0x7F)
      out.append("\\u00").append(1, hex[byte >> 4]).append(1, hex[byte & 15]);
    else
      out.push_back(c);
  }
  return out + "\"";
}

} // namespace switchyard
