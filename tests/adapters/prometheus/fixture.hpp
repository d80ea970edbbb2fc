#pragma once

#include "exposition.hpp"

#include "switchyard/prometheus/metrics.hpp"

namespace switchyard::metrics::test {

inline known_names two_of_each() {
  known_names n;
  n.routes = {{"chat", "alpha", "m", "", {"chat", "backup"}}, {"backup", "beta", "m", "eu", {"backup"}}};
  n.providers = {"alpha", "beta"};
  n.circuits = {{"alpha", "alpha", "", ""}, {"beta/m/eu", "beta", "m", "eu"}};
  n.tenants = {"acme", "globex"};
  return n;
}

struct metrics_fixture {
  metrics m{two_of_each()};

  exposition read() const { return read_exposition(m.expose()); }
  /// Zero counts as there.
  std::optional<double> value(std::string_view name, const labels& with = {}) const {
    return read().value("switchyard_" + std::string(name), with);
  }
  std::size_t series(std::string_view name) const { return read().series("switchyard_" + std::string(name)); }

  void change(std::string_view circuit, circuit_state from, circuit_state to,
              circuit_mode mode = circuit_mode::automatic) {
    m.on_event(circuit_state_event{circuit, {}, {}, {}, from, to, mode, {}, {}, {}});
  }
  void attempt(std::optional<failure_class> failure, bool retry = false) {
    attempt_row row;
    row.success = !failure;
    row.failure = failure;
    m.on_event(attempt_event{"id", row, retry});
  }
  void request(const request_row& row) {
    telemetry_record record;
    record.request = row;
    m.on_event(request_event{record});
  }
};

inline request_row served(std::string route) {
  request_row r;
  r.requested_route = std::move(route);
  r.success = true;
  return r;
}

} // namespace switchyard::metrics::test
