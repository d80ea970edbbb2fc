#pragma once

// Configuration values: aggregates with a default, a unit and a range for each field, as they stand in the
// configuration file (docs/configuration.md). settings_fields.hpp is the table of the same fields with their keys
// and rules. `validate` (validate.hpp) checks them once; after that nothing asks again.

#include "switchyard/engine/failure.hpp"
#include "switchyard/engine/secret.hpp"
#include "switchyard/engine/time.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace switchyard {

using namespace std::chrono_literals;

/// What one circuit covers [C12].
enum class circuit_scope : std::uint8_t { provider, model, region };

/// A window of outcomes and the rates at which it trips [C1, C2].
struct window_settings {
  enum class kind : std::uint8_t { count, time } type = kind::count;
  std::uint32_t size = 100;               ///< outcomes, 1..100000; ignored when `type` is time
  duration span = 60s;                    ///< 1s..24h; ignored when `type` is count
  std::uint32_t minimum_calls = 10;       ///< 1..; at most `size` for a count window
  std::optional<double> failure_rate;     ///< (0, 1]; no rule when absent
  std::optional<double> slow_call_rate;   ///< (0, 1]; no rule when absent
  duration slow_call_after = 10s;         ///< > 0; ignored without `slow_call_rate`
  duration slow_call_per_1k_tokens = 0ms; ///< >= 0, added per 1,000 input tokens; ignored without `slow_call_rate`

  friend bool operator==(const window_settings&, const window_settings&) = default;
};

/// A synthetic request that decides about half-open [C13].
struct canary_settings {
  std::string path = "/chat/completions";
  std::string body;            ///< JSON text of an object; `model` is set when it is sent
  std::string model;           ///< empty: the model of the provider's first active route
  std::string expect_contains; ///< a whole word, case counts; empty: any usable answer
  duration timeout = 5s;

  friend bool operator==(const canary_settings&, const canary_settings&) = default;
};

/// A profile of a circuit [C].
struct circuit_settings {
  circuit_scope scope = circuit_scope::provider;
  std::uint32_t consecutive_failures = 5; ///< 1..1000000
  duration cooldown = 30s;                ///< > 0
  double cooldown_multiplier = 1.0;       ///< >= 1, per reopening since the circuit last closed
  duration max_cooldown = 5min;           ///< >= cooldown
  double cooldown_jitter = 0.0;           ///< [0, 1]: the cooldown is spread by +- this share, within the maximum
  bool honour_retry_after = true;
  duration unresponsive_after = 10s; ///< > 0 [F2]
  std::uint32_t probes = 1;          ///< 1..1000
  duration probe_lease = 60s;        ///< > 0
  std::optional<window_settings> window;
  std::optional<canary_settings> canary;

  friend bool operator==(const circuit_settings&, const circuit_settings&) = default;
};

/// Time limits of one attempt. An absent one does not exist.
struct timeout_settings {
  duration connect = 2s;
  std::optional<duration> first_byte; ///< absent: 60s for streams, none for whole answers
  duration first_content = 60s;       ///< streams only
  duration idle = 30s;                ///< between two reads of a body
  duration attempt = 5min;            ///< the whole attempt; for streams to the first content chunk
  std::optional<duration> stream;     ///< streams only: the whole stream

  friend bool operator==(const timeout_settings&, const timeout_settings&) = default;
};

/// Prices in an unnamed currency.
struct price_settings {
  double input_per_million = 0;
  double output_per_million = 0;

  /// What so many tokens cost.
  double of(std::uint64_t input, std::uint64_t output) const noexcept {
    return (static_cast<double>(input) * input_per_million + static_cast<double>(output) * output_per_million) / 1e6;
  }

  friend bool operator==(const price_settings&, const price_settings&) = default;
};

/// The value of a header that goes to a provider: a text, or taken from the environment (then a secret).
struct header_value {
  std::string text; ///< ignored when `secret_env` is not empty
  std::string secret_env;
  secret value; ///< resolved at load

  friend bool operator==(const header_value&, const header_value&) = default;
};

struct provider_settings {
  enum class kind : std::uint8_t { openai, static_answer } type = kind::openai;
  std::string name;     ///< the key in the file
  std::string base_url; ///< http:// or https://, without query or fragment; ignored for static
  std::string api_key_env;
  secret api_key;                                 ///< resolved at load; empty without `api_key_env`
  std::optional<std::string> circuit = "default"; ///< profile; absent: no circuit
  std::uint32_t max_concurrency = 256;
  std::map<std::string, header_value> headers;
  std::map<std::string, std::string> query;
  std::string tls_ca; ///< path of a PEM file; empty: the system's
  bool stream_usage_inject = false;
  timeout_settings timeouts;
  std::uint64_t max_response = 64ull << 20; ///< bytes of body
  failure_set trips = default_trips();
  std::map<std::string, price_settings> prices; ///< by model
  std::string static_body;                      ///< JSON text; only for static

  friend bool operator==(const provider_settings&, const provider_settings&) = default;
};

struct retry_settings {
  std::uint32_t max_attempts = 3;
  duration base_delay = 500ms;
  double multiplier = 2; ///< >= 1
  duration max_delay = 10s;
  double jitter = 0.2; ///< [0, 1]
  double budget = 0.2; ///< (0, 1]: retries earned per first attempt [R3]

  friend bool operator==(const retry_settings&, const retry_settings&) = default;
};

struct route_settings {
  std::string name; ///< case-folded
  std::string provider;
  std::string model;
  std::string region;
  bool active = true;
  std::vector<std::string> fallback; ///< as written; cleaned by the fallback plan [B1]
  failure_set fallback_on;           ///< in addition to the table [F1]
  std::optional<std::uint64_t> context_tokens;
  duration deadline = 10min;
  retry_settings retry;

  friend bool operator==(const route_settings&, const route_settings&) = default;
};

struct health_settings {
  enum class reorder_mode : std::uint8_t { off, fallbacks, all };
  duration window = 15min;
  duration latency_reference = 5s;
  std::uint32_t minimum_samples = 1;
  reorder_mode reorder = reorder_mode::off;

  friend bool operator==(const health_settings&, const health_settings&) = default;
};

struct idempotency_settings {
  enum class concurrent_mode : std::uint8_t { join, reject };
  enum class interrupted_mode : std::uint8_t { rerun, fail };
  enum class durability_mode : std::uint8_t { process, power };
  enum class owner_loss_mode : std::uint8_t { local, fail };
  duration ttl = 24h;
  concurrent_mode concurrent = concurrent_mode::join;
  interrupted_mode on_interrupted = interrupted_mode::rerun;
  durability_mode durability = durability_mode::process;
  owner_loss_mode on_owner_loss = owner_loss_mode::local;
};

struct cache_settings {
  bool enabled = false;
  duration ttl = 1h;
  duration stale_if_error = 0s;
  std::uint64_t max_bytes = 256ull << 20;

  friend bool operator==(const cache_settings&, const cache_settings&) = default;
};

struct telemetry_settings {
  std::string path = "data"; ///< the data directory
  duration retention = 720h;

  friend bool operator==(const telemetry_settings&, const telemetry_settings&) = default;
};

struct store_settings {
  std::uint64_t block_cache = 64ull << 20; ///< bytes

  friend bool operator==(const store_settings&, const store_settings&) = default;
};

struct budget_settings {
  std::string tenant = "*";
  std::string route = "*";
  duration window = 24h;
  std::optional<std::uint64_t> requests;
  std::optional<std::uint64_t> tokens;
  std::optional<double> cost;

  friend bool operator==(const budget_settings&, const budget_settings&) = default;
};

struct tenant_settings {
  std::string name;
  std::string key_env;
  secret key; ///< resolved at load

  friend bool operator==(const tenant_settings&, const tenant_settings&) = default;
};

struct server_tls_settings {
  std::string certificate; ///< PEM file
  std::string key;         ///< PEM file

  friend bool operator==(const server_tls_settings&, const server_tls_settings&) = default;
};

struct gateway_settings {
  std::string listen = "127.0.0.1:8080";
  std::uint64_t max_body = 16ull << 20;
  std::uint32_t max_in_flight = 10000;
  duration shutdown_grace = 30s;
  duration header_timeout = 10s;
  duration body_timeout = 60s;
  std::optional<server_tls_settings> tls;
  std::vector<std::string> cors_origins; ///< empty: CORS off
  std::map<std::string, tenant_settings> tenants;
};

struct admin_settings {
  std::string listen = "127.0.0.1:9090";
  std::string token_env;
  secret token; ///< resolved at load
};

struct cluster_settings {
  std::string node;
  std::string listen;
  std::map<std::string, std::string> peers;
  std::string certificate, key, ca; ///< PEM files; empty: plain

  friend bool operator==(const cluster_settings&, const cluster_settings&) = default;
};

/// A whole configuration.
struct config {
  std::map<std::string, circuit_settings> circuits; ///< "default" is always there once loaded or completed
  std::map<std::string, provider_settings> providers;
  std::map<std::string, route_settings> routes; ///< by case-folded name
  std::vector<std::string> route_order;         ///< names as in the file, for "the first active route of a provider"
  health_settings health;
  idempotency_settings idempotency;
  cache_settings cache;
  telemetry_settings telemetry;
  store_settings store;
  std::vector<budget_settings> budgets;
  gateway_settings gateway;
  admin_settings admin;
  std::optional<cluster_settings> cluster;

  /// What a person should know of but what is no error, e.g. a fallback that does not exist [B2]. Filled when a
  /// configuration is loaded; for one built in code `validate` returns them.
  std::vector<std::string> warnings;
};

} // namespace switchyard
