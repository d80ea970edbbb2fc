#pragma once

// Metrics for Prometheus: events in, text exposition out. No prometheus-cpp type is visible here. The families and
// their labels are those of the semantics [M]; docs/gateway.md explains them to operators.

#include "switchyard/engine/events.hpp"

#include <memory>
#include <string>
#include <vector>

namespace switchyard::metrics {

class families;

/// A circuit, with the labels of its series.
struct known_circuit {
  std::string id, provider, model, region;
};

/// A route. Its series carry its id alone: where it leads may change with a reload of the configuration.
struct known_route {
  std::string id, provider, model, region;
  std::vector<std::string> chain{}; ///< the route and its fallbacks, in order [B1]: a fallback's counter starts at 0
};

/// The names that may become labels. Any other name in an event counts as `other`, so that the number of series is
/// bounded by the configuration, not by traffic [U5].
struct known_names {
  std::vector<known_route> routes;
  std::vector<std::string> providers;
  std::vector<known_circuit> circuits;
  std::vector<std::string> tenants; ///< who has budgets; the empty one where there are no tenants
};

/// All metric families. Thread-safe. Events take no lock but that inside prometheus-cpp's histograms, and allocate
/// only when a series comes up for the first time.
///
/// Every family is exposed from the start. A gauge whose value is not known has no series: no data is never shown
/// as 0 [H8]. Gauges of unknown circuits, providers and tenants are not kept at all, as one value cannot stand for
/// several.
class metrics final : public event_sink {
public:
  explicit metrics(const known_names& names);
  ~metrics() override;

  void on_event(const event& e) noexcept override;

  /// A request came in, or was answered: moves `switchyard_in_flight`.
  void request_started() noexcept;
  void request_finished() noexcept;

  /// Takes the names of another configuration. Counters go on counting, those of names that are gone stay; gauges of
  /// circuits and providers that are gone show no more, or their alerts would never clear.
  void configure(const known_names& names);
  /// Adds a circuit that an embedding program made; its own number of those is its own bound.
  void add_circuit(const known_circuit& circuit);

  /// The text exposition (version 0.0.4). Costs time in the number of series.
  std::string expose() const;

private:
  std::unique_ptr<families> families_;
};

} // namespace switchyard::metrics
