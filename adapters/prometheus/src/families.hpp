#pragma once

#include "switchyard/prometheus/metrics.hpp"

#include "series.hpp"

#include <prometheus/gauge.h>
#include <prometheus/histogram.h>

#include <array>
#include <vector>

namespace switchyard::metrics {

/// All metric families [M], and what each event does to them. A new one is a member here, and a line in `collect`.
class families {
public:
  explicit families(const known_names& names);

  void add_route(const known_route& r) { routes_.add(r.id, r.id); }
  void add_fallbacks(const known_route& r);
  void add_tenant(const std::string& t) { tenants_.add(t); }
  void add_provider(const std::string& p) { providers_.add(p, p); }
  /// Gauges of other circuits and providers show no more, until they are added again.
  void show_only(const known_names& names);
  void add_circuit(const known_circuit& c);

  void on(const circuit_state_event& e);
  void on(const circuit_mode_event& e);
  void on(const circuit_rates_event& e);
  void on(const circuit_refused_event& e);
  void on(const breaker_restarted_event& e);
  void on(const attempt_event& e);
  void on(const fallback_event& e);
  void on(const call_event& e);
  void on(const idempotency_event& e);
  void on(const request_event& e);
  void on(const telemetry_dropped_event& e);
  void on(const reload_event& e);
  void on(const health_event& e);
  void on(const budget_event& e);

  void request_started() noexcept { in_flight_.Increment(); }
  void request_finished() noexcept { in_flight_.Decrement(); }

  /// Every family with its series, in the order of the semantics.
  std::vector<prometheus::MetricFamily> collect() const;

private:
  static constexpr std::size_t call_outcome_count = 5;
  static constexpr std::size_t idempotency_result_count = 9;

  route_series& route(std::string_view id);
  circuit_series& circuit(std::string_view id);
  prometheus::Counter& rejected(circuit_series& c);
  prometheus::Counter& transitions(circuit_series& c, circuit_state from, circuit_state to);
  prometheus::Counter& fallbacks(std::string_view from, std::string_view to);
  prometheus::MetricFamily collect_budgets() const;

  using histogram_family = metric_family<prometheus::Histogram>;
  using gauge_family = metric_family<prometheus::Gauge>;

  counter_family transitions_family_, rejected_family_;
  histogram_family calls_family_, first_token_family_;
  counter_family attempts_family_, requests_family_, fallbacks_family_, retries_family_, idempotency_family_;
  counter_family tokens_family_, cost_family_;
  gauge_family in_flight_family_;
  counter_family dropped_family_, restarts_family_;

  // Series with labels from the configuration. The gauges among them are made into families by `collect`.
  series_table<circuit_series> circuits_;
  series_table<route_series> routes_;
  series_table<provider_series> providers_;
  series_table<tenant_series> tenants_;
  series_table<budget_series> budgets_; ///< by ledger, made with its first event
  circuit_series other_circuit_;
  route_series other_route_;

  // Series with labels from a closed set, or with none: there from the start.
  std::array<prometheus::Histogram*, call_outcome_count> calls_;
  std::array<prometheus::Counter*, outcome_count> attempts_;
  std::array<prometheus::Counter*, idempotency_result_count> idempotency_;
  prometheus::Histogram& first_token_;
  prometheus::Counter &retries_, &tokens_in_, &tokens_out_, &cost_;
  prometheus::Gauge& in_flight_;
  prometheus::Counter &dropped_, &restarts_;
};

} // namespace switchyard::metrics
