#include "kept_event.hpp"

#include <type_traits>
#include <variant>

namespace switchyard::detail {

kept_event::kept_event(const event& e) : view_(std::visit([this](const auto& given) { return keep(given); }, e)) {}

template <class E>
E kept_event::with_texts(E e, std::initializer_list<std::string_view E::*> members) {
  std::size_t size = 0;
  for (const auto member : members)
    size += (e.*member).size();
  texts_.reserve(size);
  for (const auto member : members) {
    const auto at = texts_.size();
    texts_ += e.*member;
    e.*member = std::string_view{texts_}.substr(at);
  }
  return e;
}

// One line for each event that shows something it does not own.
template <class E>
event kept_event::keep(const E& e) {
  if constexpr (std::is_same_v<E, circuit_state_event>)
    return with_texts(e, {&E::circuit, &E::provider, &E::model, &E::region, &E::reason});
  else if constexpr (std::is_same_v<E, circuit_refused_event>)
    return with_texts(e, {&E::circuit, &E::provider, &E::model, &E::region, &E::request_id});
  else if constexpr (std::is_same_v<E, circuit_mode_event> || std::is_same_v<E, circuit_rates_event> ||
                     std::is_same_v<E, call_event>)
    return with_texts(e, {&E::circuit, &E::provider, &E::model, &E::region});
  else if constexpr (std::is_same_v<E, breaker_restarted_event>)
    return with_texts(e, {&E::circuit});
  else if constexpr (std::is_same_v<E, attempt_event>)
    return with_texts(E{e.request_id, attempt_.emplace(e.row), e.retry}, {&E::request_id});
  else if constexpr (std::is_same_v<E, fallback_event>)
    return with_texts(e, {&E::request_id, &E::from, &E::to});
  else if constexpr (std::is_same_v<E, idempotency_event>)
    return with_texts(e, {&E::result});
  else if constexpr (std::is_same_v<E, health_event>)
    return with_texts(e, {&E::provider});
  else if constexpr (std::is_same_v<E, budget_event>)
    return with_texts(e, {&E::ledger, &E::tenant, &E::route});
  else if constexpr (std::is_same_v<E, request_event>)
    return E{request_.emplace(e.record)};
  else {
    static_assert(std::is_same_v<E, telemetry_dropped_event> || std::is_same_v<E, reload_event>,
                  "an event of a new kind: say what it shows without owning it");
    return e;
  }
}

} // namespace switchyard::detail
