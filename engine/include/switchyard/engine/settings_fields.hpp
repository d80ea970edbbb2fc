#pragma once

// The table of settings: for each aggregate in settings.hpp its fields with the key in the file, the rule of what is
// accepted and one sentence. Reading, validation, GET /admin/config, the JSON Schema and the reference in
// docs/configuration.md all walk this table, so that they cannot disagree; defaults are those of the aggregates.
// A new setting is a member in settings.hpp and a row here.

#include "switchyard/engine/setting_rules.hpp"
#include "switchyard/engine/settings.hpp"
#include "switchyard/engine/settings_rows.hpp"

#include <string_view>
#include <tuple>

namespace switchyard {

template <>
struct fields_of<window_settings> {
  using s = window_settings;
  static constexpr auto rows = std::tuple{
      field{"type", &s::type, choice("count", "time"),
            "Whether the window holds the last `size` outcomes or those of the last `size` of time."},
      field{"size", &s::size, window_size_rule{},
            "Outcomes of a count window, or the length of a time window (default \"60s\")."},
      field{"minimum_calls", &s::minimum_calls, whole_rule{1, 100'000},
            "Outcomes in the window below which no rate trips; at most `size` for a count window, to which a default "
            "is lowered."},
      field{
          "failure_rate", &s::failure_rate, real_rule{0, 1, true},
          "Share of failures at which the circuit trips; null: no such rule. At least one of the two rates is needed."},
      field{"slow_call_rate", &s::slow_call_rate, real_rule{0, 1, true},
            "Share of slow calls at which the circuit trips; null: no such rule."},
      field{"slow_call_after", &s::slow_call_after, positive_span,
            "Time after which a call is slow; ignored without `slow_call_rate`."},
      field{"slow_call_per_1k_tokens", &s::slow_call_per_1k_tokens, any_span,
            "Added to `slow_call_after` for every 1,000 input tokens; ignored without `slow_call_rate`."},
  };
};

template <>
struct fields_of<canary_settings> {
  using s = canary_settings;
  static constexpr auto rows = std::tuple{
      field{"path", &s::path, text_rule{text_form::path}, "Path of the request, after the provider's `base_url`."},
      field{"body", &s::body, json_object_rule{}, "Body of the request; `model` is set when it is sent.",
            presence::required},
      field{"model", &s::model, text_rule{text_form::nonempty},
            "Model to ask; by default that of the provider's first active route."},
      field{"expect_contains", &s::expect_contains, text_rule{text_form::any},
            "Word that the answer must contain as a whole, case counts; empty: any usable answer."},
      field{"timeout", &s::timeout, positive_span, "Time limit of the request."},
  };
};

template <>
struct fields_of<circuit_settings> {
  using s = circuit_settings;
  static constexpr auto rows = std::tuple{
      file_only_field{"base", text_rule{text_form::id},
                      "Profile from which everything is taken that this one does not say; `window` and `canary` each "
                      "as a whole. Without it the defaults here apply, whatever the profile \"default\" says."},
      field{"scope", &s::scope, choice("provider", "model", "region"),
            "What one circuit covers: a provider, one of its models, or a model in a region."},
      field{"consecutive_failures", &s::consecutive_failures, whole_rule{1, 1'000'000},
            "Failed calls in a row at which the circuit opens; a call and its retries in place count once."},
      field{"cooldown", &s::cooldown, positive_span, "Time that the circuit stays open before a probe."},
      field{"cooldown_multiplier", &s::cooldown_multiplier, real_rule{1, 1'000},
            "Factor on the cooldown for each reopening since the circuit last closed."},
      field{"max_cooldown", &s::max_cooldown, positive_span,
            "Longest cooldown; at least `cooldown`, to which a default is raised."},
      field{"cooldown_jitter", &s::cooldown_jitter, real_rule{0, 1},
            "Share by which a cooldown is spread at random, within `max_cooldown`."},
      field{"honour_retry_after", &s::honour_retry_after, flag_rule{},
            "Whether a provider's Retry-After lengthens the cooldown, up to `max_cooldown`."},
      field{"unresponsive_after", &s::unresponsive_after, positive_span,
            "Time without a single byte after which an attempt cut by the caller's shorter deadline counts as a "
            "timeout of the provider."},
      field{"probes", &s::probes, whole_rule{1, 1'000},
            "Calls that half-open admits at a time, and successes that close the circuit."},
      field{"probe_lease", &s::probe_lease, positive_span,
            "Time after which a probe without an outcome counts as failed."},
      field{"window", &s::window, nested_rule{},
            "Window of outcomes and the rates at which it trips; null: only `consecutive_failures` trips."},
      field{"canary", &s::canary, nested_rule{},
            "Synthetic request that decides whether half-open is entered; null: none."},
  };
};

template <>
struct fields_of<timeout_settings> {
  using s = timeout_settings;
  static constexpr auto rows = std::tuple{
      field{"connect", &s::connect, positive_span, "Name resolution, TCP and TLS together."},
      field{"first_byte", &s::first_byte, positive_span,
            "From the request sent to the first byte of the answer; null: 60s for streams, none for whole answers."},
      field{"first_content", &s::first_content, positive_span, "Streams only: to the first content chunk."},
      field{"idle", &s::idle, positive_span, "Between two reads of an answer's body."},
      field{"attempt", &s::attempt, positive_span, "The whole attempt; for streams to the first content chunk."},
      field{"stream", &s::stream, positive_span, "Streams only: the whole stream; null: none."},
  };
};

template <>
struct fields_of<price_settings> {
  using s = price_settings;
  static constexpr auto rows = std::tuple{
      field{"input_per_million", &s::input_per_million, real_rule{0, 1e12},
            "Price of a million input tokens, in any one currency."},
      field{"output_per_million", &s::output_per_million, real_rule{0, 1e12}, "Price of a million output tokens."},
  };
};

/// Every class that the outcome of an attempt can have.
inline constexpr failure_set attempt_classes{failure_class::connection,     failure_class::timeout,
                                             failure_class::rate_limit,     failure_class::server_error,
                                             failure_class::empty_response, failure_class::soft_failure,
                                             failure_class::auth,           failure_class::context_length,
                                             failure_class::content_policy, failure_class::client_error};

/// The classes that a route may add to those that fall over [F1].
inline constexpr failure_set fallback_classes{failure_class::auth, failure_class::context_length,
                                              failure_class::content_policy, failure_class::client_error};

template <>
struct fields_of<provider_settings> {
  using s = provider_settings;
  static constexpr auto rows = std::tuple{
      field{"type", &s::type, choice("openai", "static"), "An OpenAI-compatible API, or a fixed answer."},
      field{"base_url", &s::base_url, text_rule{text_form::base_url},
            "URL to which `/chat/completions` and the like are appended; needed unless the type is static."},
      field{"api_key_env", &s::api_key_env, text_rule{text_form::variable},
            "Environment variable that holds the API key, sent as a bearer token; by default no key is sent."},
      field{"circuit", &s::circuit, text_rule{text_form::id}, "Circuit profile of this provider; null: no circuit."},
      field{"max_concurrency", &s::max_concurrency, whole_rule{1, 1'000'000},
            "Calls at a time; more are refused as overloaded."},
      field{"headers", &s::headers, headers_rule{},
            "Headers added to every request; a secret one comes from the environment."},
      field{"query", &s::query, text_rule{text_form::any}, "Query parameters added to every request."},
      group{"tls",
            std::tuple{
                field{"ca", &s::tls_ca, text_rule{text_form::file},
                      "PEM file of the authorities to trust; by default the system's."},
            },
            "TLS to the provider."},
      field{"stream_usage", &s::stream_usage_inject, choice("as_sent", "inject"),
            "Whether streams are asked to report their usage."},
      field{"timeouts", &s::timeouts, nested_rule{}, "Time limits of one attempt."},
      field{"max_response", &s::max_response, bytes_rule{1}, "Longest body of an answer; a longer one is a failure."},
      field{"trips", &s::trips, classes_rule{attempt_classes},
            "Failure classes that count against the circuit, in place of the default ones."},
      field{"prices", &s::prices, nested_rule{}, "Prices by model; the cost of a model that is not here is unknown."},
      field{"body", &s::static_body, json_object_rule{}, "The fixed answer of a static provider; ignored for others."},
  };
};

template <>
struct fields_of<retry_settings> {
  using s = retry_settings;
  static constexpr auto rows = std::tuple{
      field{"max_attempts", &s::max_attempts, whole_rule{1, 100},
            "Attempts of one call, the first included; 1: no retries."},
      field{"base_delay", &s::base_delay, positive_span, "Delay before the first retry."},
      field{"multiplier", &s::multiplier, real_rule{1, 1'000}, "Factor from one delay to the next."},
      field{"max_delay", &s::max_delay, positive_span,
            "Longest delay; at least `base_delay`, to which a default is raised."},
      field{"jitter", &s::jitter, real_rule{0, 1}, "Share by which a delay is spread at random, within `max_delay`."},
      field{"budget", &s::budget, real_rule{0, 1, true}, "Retries that each first attempt earns its circuit."},
  };
};

template <>
struct fields_of<route_settings> {
  using s = route_settings;
  static constexpr auto rows = std::tuple{
      field{"provider", &s::provider, text_rule{text_form::id}, "Provider that serves the route.", presence::required},
      field{"model", &s::model, text_rule{text_form::nonempty}, "Model that is asked for.", presence::required},
      field{"region", &s::region, text_rule{text_form::id},
            "Region, for circuits of that scope and for telemetry; by default none."},
      field{"active", &s::active, flag_rule{},
            "Whether the route takes part; an inactive one is as if it were not there."},
      field{"fallback", &s::fallback, text_rule{text_form::nonempty}, "Routes to try in turn when this one fails."},
      field{"fallback_on", &s::fallback_on, classes_rule{fallback_classes},
            "Failure classes that fall over, in addition to the default ones."},
      field{"context_tokens", &s::context_tokens, whole_rule{1},
            "Context window of the model, in tokens; a request estimated longer skips the route; null: unknown."},
      field{"deadline", &s::deadline, positive_span,
            "Time limit of a request over all its attempts, waits and fallbacks."},
      field{"retry", &s::retry, nested_rule{}, "Retries on this route."},
  };
};

template <>
struct fields_of<health_settings> {
  using s = health_settings;
  static constexpr auto rows = std::tuple{
      field{"window", &s::window, span_rule{std::chrono::seconds{1}, std::chrono::hours{24 * 7}},
            "Time over which health is measured."},
      field{"latency_reference", &s::latency_reference, positive_span,
            "Mean latency at which the share of latency in the score reaches zero."},
      field{"minimum_samples", &s::minimum_samples, whole_rule{1, 1'000'000},
            "Attempts in the window below which a score is unknown."},
      field{"reorder", &s::reorder, choice("off", "fallbacks", "all"), "Which routes of a chain are sorted by health."},
  };
};

template <>
struct fields_of<idempotency_settings> {
  using s = idempotency_settings;
  static constexpr auto rows = std::tuple{
      field{"ttl", &s::ttl, positive_span, "Time for which an answer is replayed."},
      field{"concurrent", &s::concurrent, choice("join", "reject"),
            "Whether a request with the key of a running one waits for its answer or is refused."},
      field{"on_interrupted", &s::on_interrupted, choice("rerun", "fail"),
            "What happens to a key whose request a crash cut off."},
      field{"durability", &s::durability, choice("process", "power"),
            "Whether a stored answer survives the end of the process, or also a loss of power."},
      field{"on_owner_loss", &s::on_owner_loss, choice("local", "fail"),
            "In a cluster, while a key's owner is unreachable: run here, or refuse."},
  };
};

template <>
struct fields_of<cache_settings> {
  using s = cache_settings;
  static constexpr auto rows = std::tuple{
      field{"enabled", &s::enabled, flag_rule{}, "Whether answers are cached."},
      field{"ttl", &s::ttl, positive_span, "Time for which an answer is fresh."},
      field{"stale_if_error", &s::stale_if_error, any_span,
            "Time after that for which it is still served when every route fails."},
      field{"max_bytes", &s::max_bytes, bytes_rule{1}, "Size of the cache."},
  };
};

template <>
struct fields_of<telemetry_settings> {
  using s = telemetry_settings;
  static constexpr auto rows = std::tuple{
      field{"path", &s::path, text_rule{text_form::file},
            "Data directory; a relative one starts at the working directory."},
      field{"retention", &s::retention, positive_span, "Age at which rows are removed."},
  };
};

template <>
struct fields_of<store_settings> {
  using s = store_settings;
  static constexpr auto rows = std::tuple{
      field{"block_cache", &s::block_cache, bytes_rule{1 << 20}, "Memory for blocks read from the data directory."},
  };
};

template <>
struct fields_of<budget_settings> {
  using s = budget_settings;
  static constexpr auto rows = std::tuple{
      field{"tenant", &s::tenant, text_rule{text_form::id}, "Tenant, or \"*\": each tenant its own ledger."},
      field{"route", &s::route, text_rule{text_form::id}, "Route, or \"*\": all routes together."},
      field{"window", &s::window, positive_span, "Length of the window, which starts with its first charge."},
      field{"requests", &s::requests, whole_rule{1},
            "Requests in a window; null: any number. At least one of the three limits is needed."},
      field{"tokens", &s::tokens, whole_rule{1}, "Tokens in a window; null: any number."},
      field{"cost", &s::cost, real_rule{0, 1e15, true}, "Cost in a window, in the currency of `prices`; null: any."},
  };
};

template <>
struct fields_of<tenant_settings> {
  using s = tenant_settings;
  static constexpr auto rows = std::tuple{
      field{"key_env", &s::key_env, text_rule{text_form::variable}, "Environment variable that holds the tenant's key.",
            presence::required},
  };
};

template <>
struct fields_of<server_tls_settings> {
  using s = server_tls_settings;
  static constexpr auto rows = std::tuple{
      field{"certificate", &s::certificate, text_rule{text_form::file}, "PEM file of the certificate chain.",
            presence::required},
      field{"key", &s::key, text_rule{text_form::file}, "PEM file of the private key.", presence::required},
  };
};

template <>
struct fields_of<gateway_settings> {
  using s = gateway_settings;
  static constexpr auto rows = std::tuple{
      field{"listen", &s::listen, text_rule{text_form::endpoint},
            "Address of the data plane; port 0 takes a free one."},
      field{"max_body", &s::max_body, bytes_rule{1}, "Longest body of a request."},
      field{"max_in_flight", &s::max_in_flight, whole_rule{1, 1'000'000},
            "Requests at a time; more are refused as overloaded."},
      field{"shutdown_grace", &s::shutdown_grace, any_span, "Time that running requests have to finish at a stop."},
      field{"header_timeout", &s::header_timeout, positive_span, "Time that a client has to send a request's head."},
      field{"body_timeout", &s::body_timeout, positive_span, "Time that a client has to send a request's body."},
      field{"tls", &s::tls, nested_rule{}, "Serve HTTPS; null: HTTP."},
      group{
          "cors",
          std::tuple{
              field{"origins", &s::cors_origins, text_rule{text_form::origin}, "Web pages that may call the gateway."},
          },
          "Cross-origin requests of browsers; null: off."},
      field{"tenants", &s::tenants, nested_rule{},
            "Tenants by name; when there are any, every request needs one's key."},
  };
};

template <>
struct fields_of<admin_settings> {
  using s = admin_settings;
  static constexpr auto rows = std::tuple{
      field{"listen", &s::listen, text_rule{text_form::endpoint},
            "Address of the admin plane; not on loopback it needs `token_env`."},
      field{"token_env", &s::token_env, text_rule{text_form::variable},
            "Environment variable that holds the bearer token of the admin plane; by default none is asked for."},
  };
};

template <>
struct fields_of<cluster_settings> {
  using s = cluster_settings;
  static constexpr auto rows = std::tuple{
      field{"node", &s::node, text_rule{text_form::id}, "Name of this node.", presence::required},
      field{"listen", &s::listen, text_rule{text_form::endpoint}, "Address at which other nodes reach this one.",
            presence::required},
      field{"peers", &s::peers, text_rule{text_form::endpoint}, "Addresses of the other nodes, by name."},
      group{
          "tls",
          std::tuple{
              field{"certificate", &s::certificate, text_rule{text_form::file}, "PEM file of this node's certificate."},
              field{"key", &s::key, text_rule{text_form::file}, "PEM file of its private key."},
              field{"ca", &s::ca, text_rule{text_form::file}, "PEM file of the cluster's own authority."},
          },
          "Mutual TLS between nodes; needed unless every address is on loopback."},
  };
};

template <>
struct fields_of<config> {
  using s = config;
  static constexpr auto rows = std::tuple{
      field{"circuits", &s::circuits, nested_rule{}, "Circuit profiles by name; \"default\" is always there."},
      field{"providers", &s::providers, nested_rule{}, "Providers by name; at least one.", presence::required},
      field{"routes", &s::routes, nested_rule{},
            "Routes by name, compared without regard to the case of ASCII letters; at least one.", presence::required},
      field{"health", &s::health, nested_rule{}, "Health scores."},
      field{"idempotency", &s::idempotency, nested_rule{}, "Requests with an idempotency key."},
      field{"cache", &s::cache, nested_rule{}, "Cache of answers."},
      field{"telemetry", &s::telemetry, nested_rule{}, "Telemetry log."},
      field{"store", &s::store, nested_rule{}, "Store in the data directory."},
      field{"budgets", &s::budgets, nested_rule{}, "Budgets, all of which a request must fit."},
      field{"gateway", &s::gateway, nested_rule{}, "Data plane of the gateway."},
      field{"admin", &s::admin, nested_rule{}, "Admin plane of the gateway."},
      field{"cluster", &s::cluster, nested_rule{}, "Several gateways as one; null: none."},
  };
};

} // namespace switchyard
