#include "behaviour.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace faulty {
namespace {

// In the order of the enumerators.
constexpr std::array<std::string_view, 10> names{"answer",     "status",       "reset",
                                                 "silence",    "empty_body",   "malformed_body",
                                                 "no_content", "error_in_200", "close_without_answer",
                                                 "refused"};

constexpr behaviour behaviour_of(fault f) noexcept {
  return static_cast<behaviour>(static_cast<int>(behaviour::reset) + static_cast<int>(f));
}
static_assert(behaviour_of(fault::close_without_answer) == behaviour::close_without_answer);

double seconds(duration d) {
  return std::chrono::duration<double>(d).count();
}

plan of_outage(const outage& o) {
  plan p;
  switch (o.kind) {
  case outage_kind::reset:
    p.what = behaviour::reset;
    break;
  case outage_kind::silence:
    p.what = behaviour::silence;
    break;
  case outage_kind::status:
    p.what = behaviour::status;
    p.status = o.status;
    p.retry_after = o.retry_after;
    p.message = "the provider is down";
    break;
  }
  return p;
}

plan of_dice(const script& s, double dice) {
  plan p;
  for (const auto& e : s.errors) {
    dice -= e.rate;
    if (dice < 0) {
      p.what = behaviour::status;
      p.status = e.status;
      p.retry_after = e.retry_after;
      p.code = e.code;
      p.message = e.message;
      return p;
    }
  }
  for (std::size_t i = 0; i < s.faults.size(); ++i) {
    dice -= s.faults[i];
    if (dice < 0) {
      p.what = behaviour_of(static_cast<fault>(i));
      return p;
    }
  }
  return p;
}

} // namespace

std::string_view to_string(behaviour b) noexcept {
  return names[static_cast<std::size_t>(b)];
}

double draw(random_source& random) {
  return static_cast<double>(random() >> 11) * 0x1p-53; // the upper 53 bits
}

const outage* outage_at(const script& s, duration elapsed) noexcept {
  for (const auto& o : s.outages) {
    if (elapsed < o.after)
      continue;
    const duration into = o.every ? (elapsed - o.after) % *o.every : elapsed - o.after;
    if (!o.length || into < *o.length)
      return &o.what;
  }
  return nullptr;
}

duration draw_latency(const latency_script& l, random_source& random) {
  const double a = draw(random);
  const double b = draw(random);
  double value = seconds(l.mean);
  switch (l.shape) {
  case distribution::fixed:
    break;
  case distribution::uniform:
    value = seconds(l.min) + a * (seconds(l.max) - seconds(l.min));
    break;
  case distribution::exponential:
    value *= -std::log1p(-a);
    break;
  case distribution::lognormal: {
    // Box-Muller; the mean of exp(N(mu, sigma^2)) is exp(mu + sigma^2 / 2).
    const double normal = std::sqrt(-2 * std::log1p(-a)) * std::cos(2 * 3.141592653589793 * b);
    value *= std::exp(l.sigma * normal - l.sigma * l.sigma / 2);
    break;
  }
  }
  value = std::clamp(value, seconds(l.min), seconds(l.max));
  return std::chrono::duration_cast<duration>(std::chrono::duration<double>(value));
}

plan decide(const script& s, const outage* manual, duration elapsed, random_source& random) {
  const double dice = draw(random);
  const duration delay = draw_latency(s.latency, random);
  if (const outage* down = manual ? manual : outage_at(s, elapsed))
    return of_outage(*down); // nobody is there to take time
  plan p = of_dice(s, dice);
  // A reset comes at once: the request was not looked at. Closing without an answer is later: it may have been served.
  if (p.what != behaviour::reset)
    p.delay = delay;
  return p;
}

} // namespace faulty
