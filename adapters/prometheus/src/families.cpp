#include "families.hpp"

#include "switchyard/engine/duration_text.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

namespace switchyard::metrics {
namespace {

const prometheus::Histogram::BucketBoundaries& buckets() {
  static const prometheus::Histogram::BucketBoundaries seconds{0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120};
  return seconds;
}

constexpr std::array call_outcomes{"success", "slow_success", "failure", "neutral", "cancelled"};
static_assert(static_cast<std::size_t>(outcome::slow_success) == 1 &&
              static_cast<std::size_t>(outcome::cancelled) == 4);

constexpr std::array idempotency_results{"lead",        "join",  "replay",      "conflict", "in_flight",
                                         "unavailable", "rerun", "interrupted", "other"};

double seconds(duration d) noexcept {
  return std::chrono::duration<double>(d).count();
}

prometheus::Labels labels_of(const known_circuit& c) {
  return {{"circuit", c.id}, {"provider", c.provider}, {"model", c.model}, {"region", c.region}};
}

/// One series for each of `N` values of a label.
template <std::size_t N, class Metric, class Name, class... Arguments>
std::array<Metric*, N> all_of(metric_family<Metric>& family, const std::string& label, Name name,
                              const Arguments&... arguments) {
  std::array<Metric*, N> series;
  for (std::size_t i = 0; i < N; ++i)
    series[i] = &family.add({{label, name(i)}}, arguments...);
  return series;
}

prometheus::MetricFamily gauge(std::string name, std::string help) {
  return {std::move(name), std::move(help), prometheus::MetricType::Gauge, {}};
}

void add_gauge(prometheus::MetricFamily& family, const prometheus::Labels& labels, std::optional<double> value) {
  if (!value)
    return; // no data is no series [H8]
  auto& m = family.metric.emplace_back();
  for (const auto& [name, text] : labels)
    m.label.push_back({name, text});
  m.gauge.value = *value;
}

} // namespace

families::families(const known_names& names)
    : transitions_family_("switchyard_circuit_transitions_total", "Changes of state of a circuit."),
      rejected_family_("switchyard_circuit_rejected_total", "Calls refused by a circuit."),
      calls_family_("switchyard_call_duration_seconds", "Guarded calls, retries included, by outcome."),
      first_token_family_("switchyard_time_to_first_token_seconds",
                          "From the begin of a streamed request to its first content."),
      attempts_family_("switchyard_attempts_total", "Attempts on the wire, by failure class or success."),
      requests_family_("switchyard_requests_total",
                       "Requests, by requested route and by failure class, success or error."),
      fallbacks_family_("switchyard_fallbacks_total", "Moves from one route to the next."),
      retries_family_("switchyard_retries_total", "Attempts after the first of their call."),
      idempotency_family_("switchyard_idempotency_total", "Submits with an idempotency key, by what became of them."),
      tokens_family_("switchyard_tokens_total", "Tokens of served calls."),
      cost_family_("switchyard_cost_total", "Cost of served calls with a known price, in the currency of the prices."),
      in_flight_family_("switchyard_in_flight", "Requests being worked on."),
      dropped_family_("switchyard_telemetry_dropped_total", "Telemetry rows that could not be written."),
      restarts_family_("switchyard_breaker_restarts_total", "Breakers that died and were replaced by closed ones."),
      circuits_(names.circuits.size()),
      routes_(names.routes.size()),
      providers_(names.providers.size()),
      tenants_(names.tenants.size()),
      budgets_(names.tenants.size()),
      other_circuit_(labels_of({"other", "other", "other", "other"})),
      other_route_("other"),
      calls_(all_of<call_outcome_count>(
          calls_family_, "outcome", [](auto i) { return call_outcomes[i]; }, buckets())),
      attempts_(all_of<outcome_count>(attempts_family_, "class", outcome_name)),
      idempotency_(all_of<idempotency_result_count>(idempotency_family_, "result",
                                                    [](auto i) { return idempotency_results[i]; })),
      first_token_(first_token_family_.add({}, buckets())),
      retries_(retries_family_.add({})),
      tokens_in_(tokens_family_.add({{"direction", "input"}})),
      tokens_out_(tokens_family_.add({{"direction", "output"}})),
      cost_(cost_family_.add({})),
      in_flight_(in_flight_family_.add({})),
      dropped_(dropped_family_.add({})),
      restarts_(restarts_family_.add({})) {}

// At 0 from the start, so that the first increase shows.
void families::add_circuit(const known_circuit& c) {
  using enum circuit_state;
  auto& series = circuits_.add(c.id, labels_of(c));
  series.show();
  rejected(series);
  for (const auto& [from, to] : {std::pair{closed, open}, std::pair{open, half_open}, std::pair{open, closed},
                                 std::pair{half_open, open}, std::pair{half_open, closed}})
    transitions(series, from, to);
}

// So that the first ones show as an increase. Where routes are sorted by health there may be other pairs.
void families::add_fallbacks(const known_route& r) {
  for (std::size_t i = 1; i < r.chain.size(); ++i)
    fallbacks(r.chain[i - 1], r.chain[i]);
}

void families::show_only(const known_names& names) {
  std::set<std::string_view> circuits, providers(names.providers.begin(), names.providers.end());
  for (const auto& c : names.circuits)
    circuits.insert(c.id);
  circuits_.for_each([&](circuit_series& c) {
    if (!circuits.contains(c.labels.at("circuit")))
      c.shown.store(false, std::memory_order_relaxed);
  });
  providers_.for_each(
      [&](provider_series& p) { p.shown.store(providers.contains(p.name), std::memory_order_relaxed); });
}

route_series& families::route(std::string_view id) {
  auto* known = routes_.find(id);
  return known ? *known : other_route_;
}

circuit_series& families::circuit(std::string_view id) {
  auto* known = circuits_.find(id);
  return known ? *known : other_circuit_;
}

prometheus::Counter& families::rejected(circuit_series& c) {
  return c.rejected.get(rejected_family_, [&] { return c.labels; });
}

prometheus::Counter& families::transitions(circuit_series& c, circuit_state from, circuit_state to) {
  auto labels = [&] {
    auto all = c.labels;
    all.emplace("from", to_string(from));
    all.emplace("to", to_string(to));
    return all;
  };
  return c.transitions.at(static_cast<std::size_t>(from))
      .at(static_cast<std::size_t>(to))
      .get(transitions_family_, labels);
}

void families::on(const circuit_state_event& e) {
  auto& c = circuit(e.circuit);
  c.state.store(e.to, std::memory_order_relaxed);
  c.mode.store(e.mode, std::memory_order_relaxed);
  transitions(c, e.from, e.to).Increment();
}

void families::on(const circuit_mode_event& e) {
  auto& c = circuit(e.circuit);
  c.state.store(e.state, std::memory_order_relaxed);
  c.mode.store(e.mode, std::memory_order_relaxed);
}

void families::on(const circuit_rates_event& e) {
  auto& c = circuit(e.circuit);
  c.failure_rate.set(e.failure_rate);
  c.slow_call_rate.set(e.slow_call_rate);
}

void families::on(const circuit_refused_event& e) {
  rejected(circuit(e.circuit)).Increment();
}

void families::on(const breaker_restarted_event& e) {
  auto& c = circuit(e.circuit); // back closed and empty [C14]
  c.state.store(circuit_state::closed, std::memory_order_relaxed);
  c.failure_rate.set(std::nullopt);
  c.slow_call_rate.set(std::nullopt);
  restarts_.Increment();
}

void families::on(const attempt_event& e) {
  attempts_[outcome_index(e.row.success, e.row.failure)]->Increment();
  if (e.retry)
    retries_.Increment();
}

// No table of pairs here: it would grow with the square of the routes. The family's own look-up is quick enough for
// what happens only while a provider fails.
prometheus::Counter& families::fallbacks(std::string_view from, std::string_view to) {
  return fallbacks_family_.add({{"from", route(from).name}, {"to", route(to).name}});
}

void families::on(const fallback_event& e) {
  fallbacks(e.from, e.to).Increment();
}

void families::on(const call_event& e) {
  if (auto i = static_cast<std::size_t>(e.what); i < calls_.size()) // `hanging` is no end
    calls_[i]->Observe(seconds(e.took));
}

void families::on(const idempotency_event& e) {
  std::size_t i = 0;
  while (i + 1 < idempotency_results.size() && e.result != idempotency_results[i])
    ++i; // the last is "other"
  idempotency_[i]->Increment();
}

void families::on(const request_event& e) {
  const auto& r = e.record.request;
  auto& asked = route(r.requested_route);
  auto outcome = outcome_index(r.success, r.failure);
  auto labels = [&] { return prometheus::Labels{{"route", asked.name}, {"outcome", outcome_name(outcome)}}; };
  asked.requests[outcome].get(requests_family_, labels).Increment();
  if (r.replayed || r.cached)
    return; // nobody was called: no usage [I8, U2]
  if (r.time_to_first_token)
    first_token_.Observe(seconds(*r.time_to_first_token));
  tokens_in_.Increment(static_cast<double>(r.tokens.input.value_or(0)));
  tokens_out_.Increment(static_cast<double>(r.tokens.output.value_or(0)));
  if (r.cost)
    cost_.Increment(*r.cost);
}

void families::on(const telemetry_dropped_event& e) {
  dropped_.Increment(static_cast<double>(e.rows));
}

void families::on(const reload_event&) {
  // For people, not for a counter: the new names come by `metrics::add`.
}

void families::on(const health_event& e) {
  if (auto* p = providers_.find(e.provider))
    p->score.set(e.score);
}

// A tenant's ledgers are those of the configured budgets, so a known tenant is bound enough [U5].
void families::on(const budget_event& e) {
  if (!tenants_.find(e.tenant))
    return;
  auto* known = budgets_.find(e.ledger);
  auto& b = known ? *known
                  : budgets_.add(std::string{e.ledger}, prometheus::Labels{{"tenant", std::string{e.tenant}},
                                                                           {"route", std::string{e.route}},
                                                                           {"window", format_duration(e.window)}});
  b.requests.set(e.requests);
  b.tokens.set(e.tokens);
  b.cost.set(e.cost);
}

// Budgets for each tenant and for this one may be about the same: the fuller one is the one that matters.
prometheus::MetricFamily families::collect_budgets() const {
  std::map<prometheus::Labels, double> fullest;
  budgets_.for_each([&](const budget_series& b) {
    for (const auto& [unit, share] : {std::pair{"requests", b.requests.get()}, std::pair{"tokens", b.tokens.get()},
                                      std::pair{"cost", b.cost.get()}}) {
      if (!share)
        continue;
      auto labels = b.labels;
      labels.emplace("unit", unit);
      auto& most = fullest[std::move(labels)];
      most = std::max(most, *share);
    }
  });
  auto family = gauge("switchyard_budget_used_ratio",
                      "Used and reserved part of a tenant's budget in its running window, by what the budget limits; 1 "
                      "is all of it.");
  for (const auto& [labels, share] : fullest)
    add_gauge(family, labels, share);
  return family;
}

std::vector<prometheus::MetricFamily> families::collect() const {
  auto state = gauge("switchyard_circuit_state",
                     "State of a circuit: 0 closed, 1 open, 2 half_open, 3 forced_open, 4 disabled.");
  auto failures = gauge("switchyard_circuit_failure_rate", "Failures among the calls in a circuit's window, 0 to 1.");
  auto slow = gauge("switchyard_circuit_slow_call_rate", "Slow calls among those in a circuit's window, 0 to 1.");
  auto score = gauge("switchyard_health_score", "Health of a provider, 0 to 1.");
  circuits_.for_each([&](const circuit_series& c) {
    if (!c.shown.load(std::memory_order_relaxed))
      return;
    add_gauge(state, c.labels, c.state_value());
    add_gauge(failures, c.labels, c.failure_rate.get());
    add_gauge(slow, c.labels, c.slow_call_rate.get());
  });
  providers_.for_each([&](const provider_series& p) {
    if (p.shown.load(std::memory_order_relaxed))
      add_gauge(score, {{"provider", p.name}}, p.score.get());
  });

  std::vector<prometheus::MetricFamily> all;
  all.push_back(std::move(state));
  all.push_back(transitions_family_.collect());
  all.push_back(std::move(failures));
  all.push_back(std::move(slow));
  all.push_back(rejected_family_.collect());
  all.push_back(calls_family_.collect());
  all.push_back(first_token_family_.collect());
  for (const auto* f :
       {&attempts_family_, &requests_family_, &fallbacks_family_, &retries_family_, &idempotency_family_})
    all.push_back(f->collect());
  all.push_back(std::move(score));
  all.push_back(tokens_family_.collect());
  all.push_back(cost_family_.collect());
  all.push_back(collect_budgets());
  all.push_back(in_flight_family_.collect());
  all.push_back(dropped_family_.collect());
  all.push_back(restarts_family_.collect());
  return all;
}

} // namespace switchyard::metrics
