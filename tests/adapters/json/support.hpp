#pragma once

// Configurations and environments for the tests of loading.

#include "support/catch.hpp"
#include "switchyard/json/load_config.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

namespace switchyard::test {

/// The smallest configuration.
inline constexpr std::string_view smallest = R"({
  "providers": { "alpha": { "base_url": "http://127.0.0.1:9/v1" } },
  "routes": { "chat": { "provider": "alpha", "model": "m" } }
})";

/// Every key of a configuration, as far as this version has what it asks for.
inline constexpr std::string_view full = R"(// a gateway
{
  "circuits": {
    "default": { "scope": "provider", "consecutive_failures": 5, "cooldown": "30s", "cooldown_multiplier": 1.0,
      "max_cooldown": "5m", "cooldown_jitter": 0.0, "honour_retry_after": true, "unresponsive_after": "10s", "probes": 1,
      "probe_lease": "60s", "canary": null },
    "llm": { "base": "default", "window": { "type": "count", "size": 20, "minimum_calls": 10, "failure_rate": 0.30,
      "slow_call_rate": 0.50, "slow_call_after": "10s", "slow_call_per_1k_tokens": "0ms" } },
    "slow": { "scope": "region", "window": { "type": "time", "size": "60s", "failure_rate": 0.5 } } },
  "providers": {
    "openai": { "base_url": "https://api.openai.com/v1", "api_key_env": "OPENAI_API_KEY", "circuit": "llm",
      "max_concurrency": 256, "type": "openai", "headers": { "api-key": { "env": "AZURE_KEY" }, "x-team": "blue" },
      "query": { "api-version": "2024-10-21" }, "tls": null, "stream_usage": "as_sent",
      "timeouts": { "connect": "2s", "first_byte": "60s", "first_content": "60s", "idle": "30s", "attempt": "5m", "stream": null },
      "max_response": "64MiB", "trips": ["connection", "timeout"],
      "prices": { "gpt-4o": { "input_per_million": 2.5, "output_per_million": 10 } } },
    "local": { "base_url": "http://[::1]:8000", "circuit": null } },
  "routes": {
    "Chat": { "provider": "openai", "model": "gpt-4o", "region": "eu", "active": true, "fallback": ["chat-local"],
      "fallback_on": ["auth"], "context_tokens": 128000, "deadline": "10m",
      "retry": { "max_attempts": 3, "base_delay": "500ms", "multiplier": 2, "max_delay": "10s", "jitter": 0.2, "budget": 0.2 } },
    "chat-local": { "provider": "local", "model": "llama" } },
  "health": { "window": "15m", "latency_reference": "5s", "minimum_samples": 1, "reorder": "off" },
  "idempotency": { "ttl": "24h", "concurrent": "join" /* or reject */, "on_interrupted": "rerun",
    "durability": "power", "on_owner_loss": "local" },
  "cache": { "enabled": false, "ttl": "1h", "stale_if_error": "0s", "max_bytes": "256MiB" },
  "telemetry": { "path": "data", "retention": "30d" },
  "store": { "block_cache": "64MiB" },
  "budgets": [],
  "gateway": { "listen": "127.0.0.1:8080", "max_body": "16MiB", "max_in_flight": 10000, "shutdown_grace": "30s",
    "header_timeout": "10s", "body_timeout": "60s", "tls": null, "cors": null, "tenants": { "acme": { "key_env": "ACME_KEY" } } },
  "admin": { "listen": "127.0.0.1:9090", "token_env": "SWITCHYARD_ADMIN_TOKEN" },
  "cluster": null,
}
)";

inline const std::map<std::string, std::string, std::less<>> secrets{
    {"OPENAI_API_KEY", "sk-openai-do-not-tell"},
    {"AZURE_KEY", "azure-do-not-tell"},
    {"ACME_KEY", "acme-do-not-tell"},
    {"SWITCHYARD_ADMIN_TOKEN", "admin-do-not-tell"},
};

inline environment environment_of(std::map<std::string, std::string, std::less<>> variables) {
  return [variables = std::move(variables)](std::string_view name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional{found->second};
  };
}

inline auto load_text(std::string_view text) {
  return load_config_text(text, "test.json", environment_of(secrets));
}

/// Loads what must be right.
inline config loaded(std::string_view text) {
  auto result = load_text(text);
  INFO((result.has_error() ? result.error().text() : std::string{}));
  REQUIRE(result.has_value());
  return std::move(result.value());
}

/// Loads what must be refused.
inline config_error refused(std::string_view text) {
  INFO(text);
  auto result = load_text(text);
  REQUIRE(result.has_error());
  REQUIRE_FALSE(result.error().problems.empty());
  return result.error();
}

/// The problems at one pointer.
inline std::vector<config_problem> problems_at(const config_error& error, std::string_view pointer) {
  std::vector<config_problem> found;
  std::ranges::copy_if(error.problems, std::back_inserter(found),
                       [&](const config_problem& problem) { return problem.pointer == pointer; });
  return found;
}

/// Parses what the tests write: comments and trailing commas as in a configuration.
inline boost::json::value parse(std::string_view text) {
  boost::json::parse_options options;
  options.allow_comments = true;
  options.allow_trailing_commas = true;
  return boost::json::parse({text.data(), text.size()}, {}, options);
}

/// A configuration with the value at a pointer set to a JSON text; what is on the way is created. The names in the
/// pointer have nothing to escape.
inline std::string with(std::string_view base, std::string_view pointer, std::string_view value) {
  auto root = parse(base);
  auto* node = &root;
  while (!pointer.empty()) {
    const auto end = std::min(pointer.find('/', 1), pointer.size());
    if (!node->is_object())
      node->emplace_object();
    node = &node->get_object()[boost::json::string_view(pointer.data() + 1, end - 1)];
    pointer.remove_prefix(end);
  }
  // A placeholder, because values such as NaN are not JSON.
  *node = "PLACEHOLDER";
  auto text = std::string(boost::json::serialize(root));
  return text.replace(text.find("\"PLACEHOLDER\""), 13, value);
}

inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != text.npos;
}

} // namespace switchyard::test
