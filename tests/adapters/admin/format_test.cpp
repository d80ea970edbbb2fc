#include "format.hpp"

#include "support/catch.hpp"

#include <boost/json/value.hpp>

using namespace switchyard;
using admin::to_json;
namespace json = boost::json;

namespace {

constexpr wall_time noon{std::chrono::seconds{1'769'860'800}};
constexpr auto noon_text = "2026-01-31T12:00:00.000Z";

attempt_row some_attempt() {
  attempt_row a;
  a.time = noon;
  a.route = "chat";
  a.provider = "alpha";
  a.model = "m";
  a.success = true;
  a.status = 200;
  a.latency = 1500us;
  return a;
}

} // namespace

TEST_CASE("an attempt's row has every field of the log, unknown ones as null [H4 H8]") {
  CHECK(to_json(telemetry_row{"id-1", some_attempt()}) == json::object{{"kind", "attempt"},
                                                                       {"time", noon_text},
                                                                       {"route", "chat"},
                                                                       {"provider", "alpha"},
                                                                       {"model", "m"},
                                                                       {"region", nullptr},
                                                                       {"circuit", nullptr},
                                                                       {"success", true},
                                                                       {"class", nullptr},
                                                                       {"status", 200},
                                                                       {"latency_ms", 1.5},
                                                                       {"time_to_first_token_ms", nullptr},
                                                                       {"outcome_unknown", false},
                                                                       {"tokens_in", nullptr},
                                                                       {"tokens_out", nullptr},
                                                                       {"tokens_estimated", false},
                                                                       {"request_id", "id-1"}});
}

TEST_CASE("what is known of an attempt is shown") {
  auto a = some_attempt();
  a.region = "eu";
  a.circuit = "alpha/m/eu";
  a.success = false;
  a.failure = failure_class::rate_limit;
  a.status.reset();
  a.time_to_first_token = 20ms;
  a.outcome_unknown = true;
  a.tokens = {7, 0, true};
  const auto o = to_json(telemetry_row{"id-1", a});
  CHECK(o.at("region") == "eu");
  CHECK(o.at("circuit") == "alpha/m/eu");
  CHECK(o.at("class") == "rate_limit");
  CHECK(o.at("status").is_null());
  CHECK(o.at("time_to_first_token_ms") == 20.0);
  CHECK(o.at("outcome_unknown") == true);
  CHECK(o.at("tokens_in") == 7);
  CHECK(o.at("tokens_out") == 0); // known, and none
  CHECK(o.at("tokens_estimated") == true);
}

TEST_CASE("a request's row has every field of the log [H4 H8 U2]") {
  request_row r;
  r.request_id = "id-1";
  r.time = noon;
  r.operation = "/v1/chat/completions";
  r.requested_route = "chat";
  CHECK(to_json(telemetry_row{"id-1", r}) == json::object{{"kind", "request"},
                                                          {"time", noon_text},
                                                          {"operation", "/v1/chat/completions"},
                                                          {"tenant", nullptr},
                                                          {"requested_route", "chat"},
                                                          {"route", nullptr},
                                                          {"provider", nullptr},
                                                          {"model", nullptr},
                                                          {"region", nullptr},
                                                          {"success", false},
                                                          {"class", nullptr},
                                                          {"code", nullptr},
                                                          {"status", nullptr},
                                                          {"latency_ms", 0.0},
                                                          {"time_to_first_token_ms", nullptr},
                                                          {"attempts", 0},
                                                          {"fallbacks", 0},
                                                          {"replayed", false},
                                                          {"cached", false},
                                                          {"interrupted", false},
                                                          {"outcome_unknown", false},
                                                          {"tokens_in", nullptr},
                                                          {"tokens_out", nullptr},
                                                          {"tokens_estimated", false},
                                                          {"cost", nullptr},
                                                          {"request_id", "id-1"}});
}

TEST_CASE("health without data is null, never 0 [H8]") {
  const auto unknown = to_json(provider_health{"alpha", {}});
  CHECK(unknown.at("samples") == 0);
  for (const auto* figure : {"score", "success_rate", "mean_latency_ms", "p50_ms", "p95_ms", "p99_ms"})
    CHECK(unknown.at(figure).is_null());
  health_figures f;
  f.samples = 10;
  f.score = 0.912;
  f.mean_latency = 200ms;
  const auto known = to_json(provider_health{"alpha", f});
  CHECK(known.at("score") == 0.912);
  CHECK(known.at("mean_latency_ms") == 200.0);
}

TEST_CASE("a wait is whole milliseconds, at least one; an unknown one is null") {
  circuit_refused_event e{"alpha", "alpha", "", "", "id-1", 1ns, noon};
  CHECK(to_json(event{e}).second.at("retry_after_ms") == 1);
  e.retry_after = 1500us;
  CHECK(to_json(event{e}).second.at("retry_after_ms") == 2);
  e.retry_after.reset();
  CHECK(to_json(event{e}).second.at("retry_after_ms").is_null());
}

TEST_CASE("events for the metrics alone are not shown") {
  CHECK(to_json(event{circuit_rates_event{"a", "a", "", "", 0.5, {}}}).first.empty());
  CHECK(to_json(event{call_event{"a", "a", "", "", outcome::success, 1ms}}).first.empty());
  CHECK(to_json(event{idempotency_event{"lead"}}).first.empty());
  CHECK(to_json(event{health_event{"a", 0.5}}).first.empty());
  CHECK(to_json(event{budget_event{"l", "acme", "*", 1h, 0.5, {}, {}}}).first.empty());
  CHECK(to_json(event{reload_event{true, noon}}).first == "reload");
}
