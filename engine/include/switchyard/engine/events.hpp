#pragma once

// What observers may see. The engine and the actors emit these; adapters turn them into metrics, logs and the
// admin plane's event stream. Events hold no secrets and no message text of providers. They are views of what
// happens just now: texts and rows belong to the sender and end with the call of `on_event`.

#include "switchyard/engine/circuit.hpp"
#include "switchyard/engine/telemetry.hpp"

#include <string_view>
#include <variant>

namespace switchyard {

struct circuit_state_event {
  std::string_view circuit, provider, model, region;
  circuit_state from, to;
  circuit_mode mode = circuit_mode::automatic;
  std::string_view reason;
  wall_time time{};
  std::optional<duration> retry_after;
};

struct circuit_mode_event {
  std::string_view circuit, provider, model, region;
  circuit_mode mode = circuit_mode::automatic;
  circuit_state state = circuit_state::closed;
  wall_time time{};
};

/// Window rates after outcomes were counted; nothing when unknown.
struct circuit_rates_event {
  std::string_view circuit, provider, model, region;
  std::optional<double> failure_rate, slow_call_rate;
};

struct circuit_refused_event {
  std::string_view circuit, provider, model, region;
  std::string_view request_id; ///< empty for a guard
  std::optional<duration> retry_after;
  wall_time time{};
};

/// A breaker died and was replaced by a closed one [C14].
struct breaker_restarted_event {
  std::string_view circuit;
  wall_time time{};
};

struct attempt_event {
  std::string_view request_id;
  const attempt_row& row;
  bool retry = false; ///< not the first attempt of its call
};

struct fallback_event {
  std::string_view request_id, from, to;
  failure_class why = failure_class::unknown;
  wall_time time{};
};

/// A guarded call came to its end: one outcome of one circuit, retries included.
struct call_event {
  std::string_view circuit, provider, model, region;
  outcome what = outcome::neutral;
  duration took{};
};

/// One submit with an idempotency key: "lead", "join", "replay", "conflict", "in_flight", "unavailable".
struct idempotency_event {
  std::string_view result;
};

struct request_event {
  const telemetry_record& record;
};

struct telemetry_dropped_event {
  std::uint64_t rows = 0;
};

struct reload_event {
  bool accepted = false;
  wall_time time{};
};

/// A provider's new score, or nothing when unknown.
struct health_event {
  std::string_view provider;
  std::optional<double> score;
};

/// What a tenant has taken of a budget is another share of its limits than before: a charge, a refund, or the end of a
/// window. Reserved counts as taken; nothing where there is no limit.
struct budget_event {
  std::string_view ledger;        ///< names the budget and the tenant; not for people
  std::string_view tenant, route; ///< the tenant is whose ledger it is; the route is "*" for all
  duration window{};
  std::optional<double> requests, tokens, cost; ///< used over limit; above 1 when a request took more than estimated
};

using event = std::variant<circuit_state_event, circuit_mode_event, circuit_rates_event, circuit_refused_event,
                           breaker_restarted_event, attempt_event, fallback_event, call_event, idempotency_event,
                           request_event, telemetry_dropped_event, reload_event, health_event, budget_event>;

/// Receives events on the thread where they happen. Must return quickly and never block or throw [C15]; whoever
/// needs time queues (the runtime does so for observers of the embedding program).
class event_sink {
public:
  virtual ~event_sink() = default;
  virtual void on_event(const event& e) noexcept = 0;
};

} // namespace switchyard
