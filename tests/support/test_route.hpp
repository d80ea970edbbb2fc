#pragma once

#include "switchyard/engine/route_target.hpp"

#include <memory>
#include <string>
#include <utility>

namespace switchyard::test {

/// What a test says of a route; everything else is as by default, but for backoffs without jitter.
struct route_options {
  bool circuit = true;
  circuit_settings profile{};
  std::uint32_t capacity = 64; ///< of the circuit's queue of reports
  std::uint32_t max_concurrency = 4;
  std::uint32_t max_attempts = 3;
  duration base_delay = 100ms;
  duration max_delay = 10s;
  double retry_budget = 0.2;
  duration deadline = 60s;
  std::optional<std::uint64_t> context_tokens{};
  failure_set fallback_on{};
  std::optional<price_settings> price{};
};

inline circuit_settings cooling_for(duration cooldown, std::uint32_t consecutive_failures = 5) {
  circuit_settings s;
  s.cooldown = cooldown;
  s.consecutive_failures = consecutive_failures;
  return s;
}

/// The classes of the table that fall over, and these.
inline failure_set falling_over(failure_set more = {}) {
  for (int i = 0; i < failure_class_count; ++i) {
    const auto f = static_cast<failure_class>(i);
    if (traits(f).falls_over)
      more.insert(f);
  }
  return more;
}

/// A resolved route of that name with a provider "p-NAME", a model "m-NAME" and a circuit of its own.
inline route_target make_route(const std::string& name, const route_options& o = {}) {
  route_target t;
  t.route = name;
  t.provider = "p-" + name;
  t.model = "m-" + name;
  t.region = "eu";
  t.trips = default_trips();
  t.falls_over = falling_over(o.fallback_on);
  t.retry.max_attempts = o.max_attempts;
  t.retry.base_delay = o.base_delay;
  t.retry.max_delay = o.max_delay;
  t.retry.jitter = 0;
  t.retry.budget = o.retry_budget;
  t.deadline = o.deadline;
  t.unresponsive_after = o.profile.unresponsive_after;
  if (o.profile.window && o.profile.window->slow_call_rate)
    t.slow = slow_limit{o.profile.window->slow_call_after, o.profile.window->slow_call_per_1k_tokens};
  t.context_tokens = o.context_tokens;
  t.price = o.price;
  if (o.circuit)
    t.circuit =
        std::make_shared<circuit_cell>(circuit_id{t.provider, {}, {}}, o.profile.window.has_value(), o.capacity);
  t.retries = std::make_shared<retry_budget>();
  t.slots = std::make_shared<bulkhead>(o.max_concurrency);
  return t;
}

} // namespace switchyard::test
