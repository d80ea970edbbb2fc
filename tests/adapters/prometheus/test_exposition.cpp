#include "fixture.hpp"

#include "support/catch.hpp"

using namespace switchyard;
using namespace switchyard::metrics::test;

namespace {

const std::vector<std::pair<std::string, std::string>> documented{
    {"switchyard_circuit_state", "gauge"},
    {"switchyard_circuit_transitions_total", "counter"},
    {"switchyard_circuit_failure_rate", "gauge"},
    {"switchyard_circuit_slow_call_rate", "gauge"},
    {"switchyard_circuit_rejected_total", "counter"},
    {"switchyard_call_duration_seconds", "histogram"},
    {"switchyard_time_to_first_token_seconds", "histogram"},
    {"switchyard_attempts_total", "counter"},
    {"switchyard_requests_total", "counter"},
    {"switchyard_fallbacks_total", "counter"},
    {"switchyard_retries_total", "counter"},
    {"switchyard_idempotency_total", "counter"},
    {"switchyard_health_score", "gauge"},
    {"switchyard_tokens_total", "counter"},
    {"switchyard_cost_total", "counter"},
    {"switchyard_in_flight", "gauge"},
    {"switchyard_telemetry_dropped_total", "counter"},
    {"switchyard_budget_used_ratio", "gauge"},
};

} // namespace

TEST_CASE("every documented family is there from the start, with help and type [M]") {
  metrics::metrics empty({});
  for (const auto& text : {metrics_fixture().m.expose(), empty.expose()}) {
    auto e = read_exposition(text);
    CHECK(e.errors == std::vector<std::string>{});
    for (const auto& [family, type] : documented) {
      INFO(family);
      CHECK(e.types[family] == type);
      CHECK_FALSE(e.helps[family].empty());
    }
  }
}

TEST_CASE("families without labels are 0 from the start, and no circuit has a state before it is known [M]") {
  metrics_fixture f;
  for (const char* name :
       {"retries_total", "cost_total", "in_flight", "telemetry_dropped_total", "time_to_first_token_seconds_count"}) {
    INFO(name);
    CHECK(f.value(name) == 0);
  }
  CHECK(f.series("circuit_state") == 2);
  CHECK(read_exposition(metrics::metrics({}).expose()).series("switchyard_circuit_state") == 0);
}

TEST_CASE("after events of every kind the exposition is valid and no series is there twice [M]") {
  metrics_fixture f;
  f.change("alpha", circuit_state::closed, circuit_state::open);
  f.change("nobody", circuit_state::closed, circuit_state::open);
  f.m.on_event(circuit_rates_event{"alpha", {}, {}, {}, 0.1, 0.2});
  f.m.on_event(circuit_refused_event{"nobody", {}, {}, {}, {}, {}, {}});
  f.m.on_event(fallback_event{{}, "chat", "nobody", failure_class::timeout, {}});
  f.m.on_event(call_event{"alpha", {}, {}, {}, outcome::failure, std::chrono::seconds(1)});
  f.m.on_event(health_event{"beta", 0.5});
  f.attempt(failure_class::timeout, true);
  f.request(served("chat"));
  f.request(served("nobody"));
  CHECK(f.read().errors == std::vector<std::string>{});
}

TEST_CASE("names with quotes, backslashes and line ends are escaped, one of `other` merges [M U5]") {
  metrics::known_names n;
  std::string odd = "a\"b\\c\nd{}=,";
  n.routes = {{odd, "", "", ""}, {"other", "", "", ""}};
  n.circuits = {{odd, odd, "m", "r"}};
  metrics::metrics m(n);
  telemetry_record record;
  record.request = served(odd);
  m.on_event(request_event{record});
  for (const char* route : {"other", "unheard-of"}) {
    record.request = served(route);
    m.on_event(request_event{record});
  }
  auto e = read_exposition(m.expose());
  CHECK(e.errors == std::vector<std::string>{});
  CHECK(e.value("switchyard_requests_total", {{"route", odd}}) == 1);
  CHECK(e.value("switchyard_requests_total", {{"route", "other"}}) == 2);
  CHECK(e.value("switchyard_circuit_state", {{"circuit", odd}, {"provider", odd}}) == 0);
}

TEST_CASE("the checker of these tests finds what is wrong") {
  CHECK(read_exposition("# HELP a b\n# TYPE a counter\na 1\n").errors.empty());
  for (const char* wrong :
       {"# HELP a b\n# TYPE a counter\na 1", "# TYPE a counter\na 1\n", "# HELP a b\n# TYPE a counter\na 1\na 1\n",
        "# HELP a b\n# TYPE a counter\nb 1\n", "# HELP a b\n# TYPE a counter\na{x=\"\"\"} 1\n",
        "# HELP a b\n# TYPE a counter\na{x=y} 1\n", "# HELP a b\n# HELP a b\n# TYPE a counter\n"}) {
    INFO(wrong);
    CHECK_FALSE(read_exposition(wrong).errors.empty());
  }
}
