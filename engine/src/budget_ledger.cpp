#include "switchyard/engine/budget_ledger.hpp"

#include "switchyard/engine/duration_text.hpp"
#include "switchyard/engine/fallback_plan.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

namespace switchyard {

namespace {

constexpr std::string_view any = "*";
// Sums of costs carry rounding errors, which must not refuse what fits exactly.
constexpr double cost_slack = 1 + 1e-9;

std::uint64_t sum(std::uint64_t a, std::uint64_t b) noexcept {
  return a > std::numeric_limits<std::uint64_t>::max() - b ? std::numeric_limits<std::uint64_t>::max() : a + b;
}

std::uint64_t difference(std::uint64_t a, std::uint64_t b) noexcept {
  return a > b ? a - b : 0;
}

double cost_or_none(double cost) noexcept {
  return std::isfinite(cost) && cost > 0 ? cost : 0;
}

budget_amount operator+(const budget_amount& a, const budget_amount& b) noexcept {
  return {sum(a.requests, b.requests), sum(a.tokens, b.tokens), a.cost + cost_or_none(b.cost)};
}

budget_amount operator-(const budget_amount& a, const budget_amount& b) noexcept {
  return {difference(a.requests, b.requests), difference(a.tokens, b.tokens),
          std::max(0.0, a.cost - cost_or_none(b.cost))};
}

bool exceeds(const budget_amount& a, const budget_settings& limit) noexcept {
  return (limit.requests && a.requests > *limit.requests) || (limit.tokens && a.tokens > *limit.tokens) ||
         (limit.cost && a.cost > *limit.cost * cost_slack);
}

// Names a budget by what it is about: other limits are the same budget, another window is another.
std::string subject_of(const budget_settings& b) {
  std::string name;
  name.append(b.tenant).push_back('\0');
  name.append(fold_route_id(b.route)).push_back('\0');
  name.append(format_duration(b.window)).push_back('\0');
  return name;
}

std::string real_text(double v) {
  auto text = std::to_string(v);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.')
    text.pop_back();
  return text;
}

} // namespace

bool covers(const budget_settings& budget, std::string_view tenant, std::string_view route) {
  return (budget.tenant == any || budget.tenant == tenant) &&
         (budget.route == any || fold_route_id(budget.route) == fold_route_id(route));
}

// Of several about the same thing each has a ledger of its own, by their order.
budget_ledger::budget_ledger(std::vector<budget_settings> budgets) : budgets_(std::move(budgets)) {
  std::map<std::string, int> met;
  for (const auto& b : budgets_) {
    auto name = subject_of(b);
    if (const auto earlier = met[name]++)
      name += std::to_string(earlier);
    names_.push_back(std::move(name.append(1, '\0')));
  }
}

std::string budget_ledger::name_of(std::size_t budget, std::string_view tenant) const {
  return names_[budget] + std::string{tenant};
}

// The wall clock, but never going back: a window is as old as it was before the clock was set back [C18].
wall_time budget_ledger::steady(wall_time now) {
  if (now < seen_)
    set_back_ += seen_ - now;
  seen_ = now;
  return now + set_back_;
}

budget_ledger::ledger& budget_ledger::ledger_of(std::size_t budget, std::string_view tenant, wall_time now) {
  auto name = name_of(budget, tenant);
  auto found = ledgers_.find(name);
  if (found == ledgers_.end()) {
    forget_old(now);
    found = ledgers_.emplace(std::move(name), ledger{}).first;
    found->second.budget = budget;
    found->second.tenant = tenant;
  }
  end_window_if_due(found->second, now);
  return found->second;
}

void budget_ledger::end_window_if_due(ledger& l, wall_time now) const {
  if (!l.begun || now - l.started < budgets_[l.budget].window)
    return;
  l.begun = false;
  ++l.window;
  l.used = l.reserved = {};
}

// Tenants that come no more leave nothing behind. Each look costs what came since the last one.
void budget_ledger::forget_old(wall_time now) {
  if (ledgers_.size() < look_at_)
    return;
  for (auto it = ledgers_.begin(); it != ledgers_.end();) {
    end_window_if_due(it->second, now);
    it = it->second.begun || it->second.changed ? std::next(it) : ledgers_.erase(it);
  }
  look_at_ = std::max<std::size_t>(1024, 2 * ledgers_.size());
}

budget_ledger::verdict budget_ledger::reserve(budget_reservation id, std::string_view tenant, std::string_view route,
                                              const budget_amount& estimate, wall_time wall) {
  if (held_.contains(id))
    return {};
  const auto now = steady(wall);
  std::vector<std::size_t> covering;
  verdict v;
  bool hopeless = false;
  for (std::size_t i = 0; i < budgets_.size(); ++i) {
    if (!covers(budgets_[i], tenant, route))
      continue;
    covering.push_back(i);
    const auto& l = ledger_of(i, tenant, now);
    if (!exceeds(l.used + estimate, budgets_[i]))
      continue;
    v.admitted = false;
    if (v.message.empty())
      v.message = refusal(l, estimate);
    if (l.begun)
      v.retry_after = std::max(v.retry_after.value_or(duration::zero()), l.started + budgets_[i].window - now);
    hopeless = hopeless || exceeds(estimate, budgets_[i]);
  }
  if (hopeless)
    v.retry_after.reset();
  if (!v.admitted)
    return v;
  hold h{estimate, {}};
  for (const auto i : covering) {
    auto& l = ledger_of(i, tenant, now);
    if (!std::exchange(l.begun, true))
      l.started = now;
    l.used = l.used + estimate;
    l.reserved = l.reserved + estimate;
    auto name = name_of(i, tenant);
    changed(name, l);
    h.shares.push_back({std::move(name), l.window});
  }
  held_.emplace(id, std::move(h));
  return v;
}

std::string budget_ledger::refusal(const ledger& l, const budget_amount& estimate) const {
  const auto& b = budgets_[l.budget];
  std::string unit, limit, left, wanted;
  bool hopeless = false;
  if (b.requests && sum(l.used.requests, estimate.requests) > *b.requests) {
    unit = "requests";
    limit = std::to_string(*b.requests);
    hopeless = estimate.requests > *b.requests;
  } else if (b.tokens && sum(l.used.tokens, estimate.tokens) > *b.tokens) {
    unit = "tokens";
    limit = std::to_string(*b.tokens);
    left = std::to_string(difference(*b.tokens, l.used.tokens));
    wanted = std::to_string(estimate.tokens);
    hopeless = estimate.tokens > *b.tokens;
  } else {
    unit = "cost";
    limit = real_text(b.cost.value_or(0));
    left = real_text(std::max(0.0, b.cost.value_or(0) - l.used.cost));
    wanted = real_text(estimate.cost);
    hopeless = b.cost && estimate.cost > *b.cost * cost_slack;
  }
  const auto of = "the budget of " + limit + " " + unit + " in " + format_duration(b.window) + " for " +
                  (b.tenant == any ? "each tenant" : "tenant " + b.tenant) + " and " +
                  (b.route == any ? "all routes" : "route " + b.route);
  if (hopeless)
    return "this request is estimated at " + wanted + " " + unit + ", more than " + of;
  if (left.empty())
    return of + " is used up";
  return of + " has " + left + " left, and this request is estimated at " + wanted;
}

void budget_ledger::settle(budget_reservation id, const std::optional<budget_amount>& actual, wall_time wall) {
  const auto now = steady(wall);
  const auto node = held_.extract(id);
  if (node.empty())
    return;
  const auto& h = node.mapped();
  for (const auto& s : h.shares) {
    const auto found = ledgers_.find(s.ledger);
    if (found == ledgers_.end())
      continue;
    auto& l = found->second;
    end_window_if_due(l, now);
    if (!l.begun || l.window != s.window)
      continue;
    l.reserved = l.reserved - h.estimate;
    l.used = l.used - h.estimate;
    if (actual)
      l.used = l.used + *actual;
    changed(s.ledger, l);
  }
}

void budget_ledger::changed(const std::string& name, ledger& l) {
  if (!std::exchange(l.changed, true))
    changed_.push_back(name);
}

std::vector<stored_budget> budget_ledger::take_changed(wall_time wall) {
  steady(wall);
  std::vector<stored_budget> all;
  for (const auto& name : std::exchange(changed_, {})) {
    const auto found = ledgers_.find(name);
    if (found == ledgers_.end())
      continue;
    auto& l = found->second;
    l.changed = false;
    all.push_back({name, budgets_[l.budget].window, l.started - set_back_, wall, l.used});
  }
  return all;
}

void budget_ledger::still_changed(std::span<const stored_budget> ledgers) {
  for (const auto& s : ledgers)
    if (const auto found = ledgers_.find(s.ledger); found != ledgers_.end())
      changed(s.ledger, found->second);
}

void budget_ledger::restore(std::span<const stored_budget> ledgers, wall_time wall) {
  const auto now = steady(wall);
  for (const auto& s : ledgers) {
    const auto of = std::ranges::find_if(names_, [&](const auto& name) { return s.ledger.starts_with(name); });
    if (of == names_.end())
      continue;
    const auto budget = static_cast<std::size_t>(of - names_.begin());
    const auto age = std::max(s.written_at - s.window_started, duration::zero());
    const auto started = wall < s.written_at ? now - age : s.window_started + (now - wall);
    if (now - started >= budgets_[budget].window)
      continue;
    ledger l;
    l.budget = budget;
    l.tenant = s.ledger.substr(of->size());
    l.begun = true;
    l.started = started;
    l.used = budget_amount{} + s.used;
    ledgers_.insert_or_assign(s.ledger, std::move(l));
  }
}

std::vector<budget_figures> budget_ledger::describe(wall_time wall) {
  const auto now = steady(wall);
  std::vector<budget_figures> all;
  for (auto& [name, l] : ledgers_) {
    end_window_if_due(l, now);
    if (!l.begun)
      continue;
    const auto& b = budgets_[l.budget];
    budget_figures f;
    f.tenant = l.tenant;
    f.route = b.route;
    f.window = b.window;
    f.requests = b.requests;
    f.tokens = b.tokens;
    f.cost = b.cost;
    f.used = l.used;
    f.reserved = l.reserved;
    f.window_started = l.started - set_back_;
    f.window_ends = *f.window_started + b.window;
    all.push_back(std::move(f));
  }
  return all;
}

} // namespace switchyard
