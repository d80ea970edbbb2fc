#pragma once

// The series that belong to one circuit, route or provider. Counters come up when they first count, and are
// then found without a look-up.

#include "series_table.hpp"

#include "switchyard/engine/circuit.hpp"
#include "switchyard/engine/failure.hpp"

#include <prometheus/counter.h>
#include <prometheus/family.h>

#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace switchyard::metrics {

/// A family of prometheus-cpp that is exposed even without series: prometheus-cpp leaves out such a one.
template <class Metric>
class metric_family {
public:
  metric_family(const std::string& name, std::string help) : family_(name, help, {}), help_(std::move(help)) {}

  /// The series of those labels; made when there is none. Takes a lock.
  template <class... Arguments>
  Metric& add(const prometheus::Labels& labels, const Arguments&... arguments) {
    return family_.Add(labels, arguments...);
  }

  prometheus::MetricFamily collect() const {
    auto collected = family_.Collect();
    if (collected.empty())
      return {family_.GetName(), help_, Metric::metric_type, {}};
    return std::move(collected.front());
  }

private:
  prometheus::Family<Metric> family_;
  std::string help_;
};

using counter_family = metric_family<prometheus::Counter>;

/// A counter that its family makes at its first use. Two threads at once get the same one.
class lazy_counter {
public:
  template <class MakeLabels>
  prometheus::Counter& get(counter_family& family, MakeLabels labels) {
    if (auto* known = counter_.load(std::memory_order_acquire))
      return *known;
    auto& made = family.add(labels());
    counter_.store(&made, std::memory_order_release);
    return made;
  }

private:
  std::atomic<prometheus::Counter*> counter_{nullptr};
};

/// A gauge that may have no value.
class optional_gauge {
public:
  void set(std::optional<double> v) noexcept { value_.store(v.value_or(unknown), std::memory_order_relaxed); }
  std::optional<double> get() const noexcept {
    auto v = value_.load(std::memory_order_relaxed);
    return std::isnan(v) ? std::nullopt : std::optional(v);
  }

private:
  static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  std::atomic<double> value_{unknown};
};

/// How an attempt or a request came out: "success", a class's name, or "error" for a failure without a class.
inline constexpr std::size_t outcome_count = failure_class_count + 2;

inline std::size_t outcome_index(bool success, const std::optional<failure_class>& f) noexcept {
  if (success)
    return failure_class_count;
  return f ? static_cast<std::size_t>(*f) : failure_class_count + 1;
}

inline std::string outcome_name(std::size_t index) {
  if (index < failure_class_count)
    return std::string(to_string(static_cast<failure_class>(index)));
  return index == failure_class_count ? "success" : "error";
}

struct circuit_series {
  explicit circuit_series(prometheus::Labels l) : labels(std::move(l)) {}

  prometheus::Labels labels;
  std::atomic<bool> shown{false}; ///< its gauges
  std::atomic<circuit_state> state{circuit_state::closed};
  std::atomic<circuit_mode> mode{circuit_mode::automatic};
  optional_gauge failure_rate, slow_call_rate;
  lazy_counter rejected;
  std::array<std::array<lazy_counter, 3>, 3> transitions; ///< by state before and after

  /// One that was gone comes back as a new one.
  void show() noexcept {
    if (shown.load(std::memory_order_relaxed))
      return;
    state.store(circuit_state::closed, std::memory_order_relaxed);
    mode.store(circuit_mode::automatic, std::memory_order_relaxed);
    failure_rate.set(std::nullopt);
    slow_call_rate.set(std::nullopt);
    shown.store(true, std::memory_order_relaxed);
  }

  /// switchyard_circuit_state: 0 closed, 1 open, 2 half_open, 3 forced_open, 4 disabled [M].
  double state_value() const noexcept {
    switch (mode.load(std::memory_order_relaxed)) {
    case circuit_mode::forced_open:
      return 3;
    case circuit_mode::disabled:
      return 4;
    case circuit_mode::automatic:
      break;
    }
    return static_cast<double>(state.load(std::memory_order_relaxed));
  }
};

struct route_series {
  explicit route_series(std::string route) : name(std::move(route)) {}

  std::string name;
  std::array<lazy_counter, outcome_count> requests;
};

struct tenant_series {};

struct budget_series {
  explicit budget_series(prometheus::Labels l) : labels(std::move(l)) {}

  prometheus::Labels labels;
  optional_gauge requests, tokens, cost; ///< shares of the limits that are used
};

struct provider_series {
  explicit provider_series(std::string provider) : name(std::move(provider)) {}

  std::string name;
  std::atomic<bool> shown{false}; ///< its gauge
  optional_gauge score;
};

} // namespace switchyard::metrics
