#include "event_line.hpp"

#include "switchyard/json/json_text.hpp"

#include <boost/json/object.hpp>

#include <chrono>
#include <optional>
#include <string_view>

namespace observe {

using namespace switchyard;

namespace {

namespace json = boost::json;

double ms(duration d) {
  return std::chrono::duration<double, std::milli>(d).count();
}

// What is not known is left out, not written as 0.
template <class T>
void put(json::object& o, std::string_view key, const std::optional<T>& value) {
  if (value)
    o[key] = *value;
}
void put(json::object& o, std::string_view key, const std::optional<duration>& value) {
  if (value)
    o[key] = ms(*value);
}
void put(json::object& o, std::string_view key, const std::optional<failure_class>& value) {
  if (value)
    o[key] = to_string(*value);
}
void put(json::object& o, std::string_view key, std::string_view text) {
  if (!text.empty())
    o[key] = text;
}

template <class E>
json::object of_circuit(std::string_view name, const E& e) {
  json::object o{{"name", name}, {"circuit", e.circuit}, {"provider", e.provider}};
  put(o, "model", e.model);
  put(o, "region", e.region);
  return o;
}

std::string_view name_of(outcome what) {
  switch (what) {
  case outcome::success:
    return "success";
  case outcome::slow_success:
    return "slow_success";
  case outcome::failure:
    return "failure";
  case outcome::neutral:
    return "neutral";
  case outcome::cancelled:
    return "cancelled";
  case outcome::hanging:
    return "hanging";
  case outcome::flowing:
    return "flowing";
  }
  return "unknown";
}

void put_tokens(json::object& o, const token_usage& t) {
  put(o, "input_tokens", t.input);
  put(o, "output_tokens", t.output);
}

// What attempts and requests have in common.
template <class Row>
void put_row(json::object& o, const Row& r) {
  put(o, "route", r.route);
  put(o, "provider", r.provider);
  put(o, "model", r.model);
  put(o, "region", r.region);
  o["success"] = r.success;
  put(o, "class", r.failure);
  put(o, "status", r.status);
  o["latency_ms"] = ms(r.latency);
  put(o, "time_to_first_token_ms", r.time_to_first_token);
  put_tokens(o, r.tokens);
}

json::object show(const circuit_state_event& e) {
  auto o = of_circuit("circuit_state", e);
  o["from"] = to_string(e.from);
  o["to"] = to_string(e.to);
  o["reason"] = e.reason;
  put(o, "retry_after_ms", e.retry_after);
  return o;
}

json::object show(const circuit_mode_event& e) {
  auto o = of_circuit("circuit_mode", e);
  o["mode"] = to_string(e.mode);
  o["state"] = to_string(e.state);
  return o;
}

json::object show(const circuit_rates_event& e) {
  auto o = of_circuit("circuit_rates", e);
  put(o, "failure_rate", e.failure_rate);
  put(o, "slow_call_rate", e.slow_call_rate);
  return o;
}

json::object show(const circuit_refused_event& e) {
  auto o = of_circuit("circuit_refused", e);
  put(o, "request_id", e.request_id);
  put(o, "retry_after_ms", e.retry_after);
  return o;
}

json::object show(const breaker_restarted_event& e) {
  return {{"name", "breaker_restarted"}, {"circuit", e.circuit}};
}

json::object show(const attempt_event& e) {
  json::object o{{"name", "attempt"}, {"request_id", e.request_id}, {"retry", e.retry}};
  put(o, "circuit", e.row.circuit);
  put_row(o, e.row);
  return o;
}

json::object show(const fallback_event& e) {
  return {
      {"name", "fallback"}, {"request_id", e.request_id}, {"from", e.from}, {"to", e.to}, {"class", to_string(e.why)}};
}

json::object show(const call_event& e) {
  auto o = of_circuit("call", e);
  o["outcome"] = name_of(e.what);
  o["took_ms"] = ms(e.took);
  return o;
}

json::object show(const idempotency_event& e) {
  return {{"name", "idempotency"}, {"result", e.result}};
}

json::object show(const request_event& e) {
  const auto& r = e.record.request;
  json::object o{{"name", "request"},      {"request_id", r.request_id}, {"operation", r.operation},
                 {"attempts", r.attempts}, {"fallbacks", r.fallbacks},   {"replayed", r.replayed},
                 {"cached", r.cached}};
  put(o, "tenant", r.tenant);
  put(o, "requested_route", r.requested_route);
  put(o, "code", r.code);
  put_row(o, r);
  put(o, "cost", r.cost);
  return o;
}

json::object show(const telemetry_dropped_event& e) {
  return {{"name", "telemetry_dropped"}, {"rows", e.rows}};
}

json::object show(const reload_event& e) {
  return {{"name", "reload"}, {"accepted", e.accepted}};
}

json::object show(const health_event& e) {
  json::object o{{"name", "health"}, {"provider", e.provider}};
  put(o, "score", e.score);
  return o;
}

json::object show(const budget_event& e) {
  json::object o{{"name", "budget"}, {"route", e.route}, {"window_ms", ms(e.window)}};
  put(o, "tenant", e.tenant);
  put(o, "requests", e.requests);
  put(o, "tokens", e.tokens);
  put(o, "cost", e.cost);
  return o;
}

} // namespace

std::string event_line(const event& e) {
  return to_json_text(std::visit([](const auto& what) { return show(what); }, e));
}

bool needs_attention(const event& e) noexcept {
  if (const auto* change = std::get_if<circuit_state_event>(&e))
    return change->to == circuit_state::open;
  if (const auto* reload = std::get_if<reload_event>(&e))
    return !reload->accepted;
  return std::holds_alternative<breaker_restarted_event>(e) || std::holds_alternative<telemetry_dropped_event>(e);
}

} // namespace observe
