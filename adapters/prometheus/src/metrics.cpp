#include "switchyard/prometheus/metrics.hpp"

#include "families.hpp"

#include <prometheus/text_serializer.h>

#include <exception>

namespace switchyard::metrics {

metrics::metrics(const known_names& names) : families_(std::make_unique<families>(names)) {
  configure(names);
}

metrics::~metrics() = default;

void metrics::configure(const known_names& names) {
  for (const auto& c : names.circuits)
    families_->add_circuit(c);
  for (const auto& r : names.routes)
    families_->add_route(r);
  for (const auto& r : names.routes)
    families_->add_fallbacks(r); // when all routes are known
  for (const auto& t : names.tenants)
    families_->add_tenant(t);
  for (const auto& p : names.providers)
    families_->add_provider(p);
  families_->show_only(names);
}

void metrics::add_circuit(const known_circuit& circuit) {
  families_->add_circuit(circuit);
}

void metrics::on_event(const event& e) noexcept {
  try {
    std::visit([this](const auto& what) { families_->on(what); }, e);
  } catch (const std::exception&) {
    // No memory for a new series, or a value outside its enumeration: the event is not counted, the call goes on [C15].
  }
}

void metrics::request_started() noexcept {
  families_->request_started();
}

void metrics::request_finished() noexcept {
  families_->request_finished();
}

std::string metrics::expose() const {
  return prometheus::TextSerializer().Serialize(families_->collect());
}

} // namespace switchyard::metrics
