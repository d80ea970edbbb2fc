#include "format.hpp"

#include "switchyard/admin/row_text.hpp"
#include "switchyard/json/json_text.hpp"

#include "queries.hpp"

#include "time_text.hpp"

#include <boost/json/value_from.hpp>

#include <algorithm>
#include <cmath>
#include <variant>

namespace switchyard::admin {

namespace json = boost::json;

namespace {

json::value or_null(const std::optional<double>& x) {
  return x ? json::value(*x) : json::value(nullptr);
}

json::value or_null(const std::optional<std::uint32_t>& x) {
  return x ? json::value(*x) : json::value(nullptr);
}

json::value or_null(const std::optional<std::uint64_t>& x) {
  return x ? json::value(*x) : json::value(nullptr);
}

json::value or_null(const std::optional<int>& x) {
  return x ? json::value(*x) : json::value(nullptr);
}

json::value ms_or_null(const std::optional<duration>& d) {
  return d ? json::value(std::round(to_ms(*d) * 1000) / 1000) : json::value(nullptr);
}

json::value wait_or_null(const std::optional<duration>& d) {
  return d ? json::value(std::max<std::int64_t>(1, ceil_ms(*d))) : json::value(nullptr);
}

json::value text_or_null(std::string_view text) {
  return text.empty() ? json::value(nullptr) : json::value(text);
}

json::value class_or_null(const std::optional<failure_class>& f) {
  return f ? json::value(to_string(*f)) : json::value(nullptr);
}

json::object row_json(const attempt_row& r) {
  return {{"kind", "attempt"},
          {"time", to_rfc3339(r.time)},
          {"route", r.route},
          {"provider", r.provider},
          {"model", r.model},
          {"region", text_or_null(r.region)},
          {"circuit", text_or_null(r.circuit)},
          {"success", r.success},
          {"class", class_or_null(r.failure)},
          {"status", or_null(r.status)},
          {"latency_ms", ms_or_null(r.latency)},
          {"time_to_first_token_ms", ms_or_null(r.time_to_first_token)},
          {"outcome_unknown", r.outcome_unknown},
          {"tokens_in", or_null(r.tokens.input)},
          {"tokens_out", or_null(r.tokens.output)},
          {"tokens_estimated", r.tokens.estimated}};
}

json::object row_json(const request_row& r) {
  return {{"kind", "request"},
          {"time", to_rfc3339(r.time)},
          {"operation", r.operation},
          {"tenant", text_or_null(r.tenant)},
          {"requested_route", r.requested_route},
          {"route", text_or_null(r.route)},
          {"provider", text_or_null(r.provider)},
          {"model", text_or_null(r.model)},
          {"region", text_or_null(r.region)},
          {"success", r.success},
          {"class", class_or_null(r.failure)},
          {"code", text_or_null(r.code)},
          {"status", or_null(r.status)},
          {"latency_ms", ms_or_null(r.latency)},
          {"time_to_first_token_ms", ms_or_null(r.time_to_first_token)},
          {"attempts", r.attempts},
          {"fallbacks", r.fallbacks},
          {"replayed", r.replayed},
          {"cached", r.cached},
          {"interrupted", r.interrupted},
          {"outcome_unknown", r.outcome_unknown},
          {"tokens_in", or_null(r.tokens.input)},
          {"tokens_out", or_null(r.tokens.output)},
          {"tokens_estimated", r.tokens.estimated},
          {"cost", or_null(r.cost)}};
}

template <class E>
json::object circuit_part(const E& e) {
  return {{"circuit", e.circuit},
          {"provider", e.provider},
          {"model", text_or_null(e.model)},
          {"region", text_or_null(e.region)}};
}

using named = std::pair<std::string_view, json::object>;

named show(const circuit_state_event& e) {
  auto o = circuit_part(e);
  o["from"] = to_string(e.from);
  o["state"] = to_string(e.to);
  o["mode"] = to_string(e.mode);
  o["reason"] = e.reason;
  o["retry_after_ms"] = wait_or_null(e.retry_after);
  o["time"] = to_rfc3339(e.time);
  return {"circuit_state", std::move(o)};
}

named show(const circuit_mode_event& e) {
  auto o = circuit_part(e);
  o["from"] = to_string(e.state);
  o["state"] = to_string(e.state);
  o["mode"] = to_string(e.mode);
  o["reason"] = "operator";
  o["time"] = to_rfc3339(e.time);
  return {"circuit_state", std::move(o)};
}

named show(const circuit_refused_event& e) {
  auto o = circuit_part(e);
  o["request_id"] = text_or_null(e.request_id);
  o["retry_after_ms"] = wait_or_null(e.retry_after);
  o["time"] = to_rfc3339(e.time);
  return {"circuit_refused", std::move(o)};
}

named show(const attempt_event& e) {
  auto o = row_json(e.row);
  o["request_id"] = e.request_id;
  o["retry"] = e.retry;
  return {"attempt", std::move(o)};
}

named show(const request_event& e) {
  auto o = row_json(e.record.request);
  o["request_id"] = e.record.request.request_id;
  return {"request", std::move(o)};
}

named show(const fallback_event& e) {
  return {"fallback",
          {{"request_id", e.request_id},
           {"from", e.from},
           {"to", e.to},
           {"class", to_string(e.why)},
           {"time", to_rfc3339(e.time)}}};
}

named show(const reload_event& e) {
  return {"reload", {{"accepted", e.accepted}, {"time", to_rfc3339(e.time)}}};
}

template <class E>
named show(const E&) {
  return {};
}

} // namespace

json::object to_json(const circuit_description& d, const core& engine) {
  const auto& f = d.figures;
  return {{"id", d.id.str()},
          {"provider", d.id.provider},
          {"model", text_or_null(d.id.model)},
          {"region", text_or_null(d.id.region)},
          {"state", to_string(f.state)},
          {"mode", to_string(f.mode)},
          {"consecutive_failures", f.consecutive_failures},
          {"window_calls", or_null(f.window_calls)},
          {"failure_rate", or_null(f.failure_rate)},
          {"slow_call_rate", or_null(f.slow_call_rate)},
          {"opened_at", f.opened_at ? json::value(to_rfc3339(engine.to_wall(*f.opened_at))) : json::value(nullptr)},
          {"retry_after_ms", wait_or_null(f.wait)},
          {"probes_in_flight", f.probes_in_flight},
          {"trips", f.trips}};
}

json::object to_json(const provider_health& h) {
  const auto& f = h.figures;
  return {{"id", h.provider},
          {"samples", f.samples},
          {"score", or_null(f.score)},
          {"success_rate", or_null(f.success_rate)},
          {"mean_latency_ms", ms_or_null(f.mean_latency)},
          {"p50_ms", ms_or_null(f.p50)},
          {"p95_ms", ms_or_null(f.p95)},
          {"p99_ms", ms_or_null(f.p99)}};
}

namespace {

// Sums of costs carry rounding errors that nobody wants to read.
double money(double sum) {
  return std::round(sum * 1e9) / 1e9;
}

} // namespace

json::object to_json(const budget_figures& b) {
  const auto amount = [](const budget_amount& a) {
    return json::object{{"requests", a.requests}, {"tokens", a.tokens}, {"cost", money(a.cost)}};
  };
  const auto time_or_null = [](const std::optional<wall_time>& t) {
    return t ? json::value(to_rfc3339(*t)) : json::value(nullptr);
  };
  return {{"tenant", b.tenant},
          {"route", b.route},
          {"window_seconds", std::chrono::duration<double>(b.window).count()},
          {"limits", {{"requests", or_null(b.requests)}, {"tokens", or_null(b.tokens)}, {"cost", or_null(b.cost)}}},
          {"used", amount(b.used)},
          {"reserved", amount(b.reserved)},
          {"window_started", time_or_null(b.window_started)},
          {"window_ends", time_or_null(b.window_ends)}};
}

json::object to_json(const usage_row& u, usage_group by) {
  const auto& t = u.totals;
  return {{group_names[static_cast<std::size_t>(by)], u.name},
          {"requests", t.requests},
          {"input_tokens", t.input_tokens},
          {"output_tokens", t.output_tokens},
          {"estimated_requests", t.estimated},
          {"cost", u.cost() ? json::value(money(*u.cost())) : json::value(nullptr)},
          {"unpriced_requests", t.unpriced}};
}

json::object to_json(const telemetry_row& row) {
  auto o = std::visit([](const auto& r) { return row_json(r); }, row.row);
  o["request_id"] = row.request_id;
  return o;
}

std::string row_text(const telemetry_row& row) {
  return to_json_text(to_json(row));
}

std::string time_text(wall_time t) {
  return to_rfc3339(t);
}

named to_json(const event& e) {
  return std::visit([](const auto& what) { return show(what); }, e);
}

} // namespace switchyard::admin
