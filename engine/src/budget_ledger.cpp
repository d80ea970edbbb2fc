#include "switchyard/engine/budget_ledger.hpp"

#include "budget_arithmetic.hpp"
#include "budget_shortage.hpp"

#include "switchyard/engine/duration_text.hpp"
#include "switchyard/engine/fallback_plan.hpp"

#include <algorithm>
#include <utility>

namespace switchyard {

namespace {

constexpr std::string_view any = "*";

std::string subject(std::string_view tenant, std::string_view folded_route) {
  std::string name;
  name.append(tenant).push_back('\0');
  name.append(folded_route).push_back('\0');
  return name;
}

} // namespace

bool covers(const budget_settings& budget, std::string_view tenant, std::string_view route) {
  return (budget.tenant == any || budget.tenant == tenant) &&
         (budget.route == any || fold_route_id(budget.route) == fold_route_id(route));
}

// A budget is named by what it is about: other limits are the same budget, another window is another. Of several about
// the same thing each has a ledger of its own, by their order. A ledger's name is the budget's and the tenant.
budget_ledger::budget_ledger(std::vector<budget_settings> budgets) : budgets_(std::move(budgets)) {
  name_budgets();
}

void budget_ledger::name_budgets() {
  names_.clear();
  by_name_.clear();
  by_subject_.clear();
  std::map<std::string, int> met;
  for (std::size_t i = 0; i < budgets_.size(); ++i) {
    const auto& b = budgets_[i];
    auto about = subject(b.tenant, b.route == any ? b.route : fold_route_id(b.route));
    auto name = about + format_duration(b.window) + '\0';
    if (const auto earlier = met[name]++)
      name += std::to_string(earlier);
    name += '\0';
    by_subject_[std::move(about)].push_back(i);
    by_name_.emplace(name, i);
    names_.push_back(std::move(name));
  }
}

void budget_ledger::reconfigure(std::vector<budget_settings> budgets) {
  const auto names = std::exchange(names_, {});
  const auto before = std::exchange(budgets_, std::move(budgets));
  name_budgets();
  for (auto it = ledgers_.begin(); it != ledgers_.end();) {
    auto& [name, l] = *it;
    if (const auto found = by_name_.find(names[l.budget]); found != by_name_.end()) {
      l.budget = found->second;
      moved(name, l); // the limits may be others
      ++it;
    } else {
      gone_.push_back({name, l.tenant, before[l.budget].route, before[l.budget].window, {}, {}, {}});
      it = ledgers_.erase(it);
    }
  }
  std::erase_if(changed_, [&](const std::string& name) { return !ledgers_.contains(name); });
}

// In the order of the configuration.
std::vector<std::size_t> budget_ledger::covering(std::string_view tenant, std::string_view route) const {
  std::vector<std::size_t> found;
  const auto folded = fold_route_id(route);
  for (const auto t : {any, tenant})
    for (const auto r : {any, std::string_view{folded}})
      if (const auto at = by_subject_.find(subject(t, r)); at != by_subject_.end())
        found.insert(found.end(), at->second.begin(), at->second.end());
  std::ranges::sort(found);
  found.erase(std::ranges::unique(found).begin(), found.end()); // a tenant may be called "*"
  return found;
}

// The wall clock, but never going back: a window is as old as it was before the clock was set back [C18].
wall_time budget_ledger::steady(wall_time now) {
  if (now < seen_)
    set_back_ += seen_ - now;
  seen_ = now;
  return now + set_back_;
}

budget_ledger::ledger_map::iterator budget_ledger::ledger_of(std::size_t budget, std::string_view tenant) {
  const auto [at, is_new] = ledgers_.try_emplace(names_[budget] + std::string{tenant});
  if (is_new) {
    at->second.budget = budget;
    at->second.tenant = tenant;
  }
  return at;
}

void budget_ledger::begin_window(const std::string& name, ledger& l, wall_time started) {
  l.window = ++windows_;
  l.started = started;
  ends_.emplace(started + budgets_[l.budget].window, name);
}

bool budget_ledger::has_window(const ledger& l, wall_time now) const {
  return l.window != 0 && now - l.started < budgets_[l.budget].window;
}

void budget_ledger::end_window_if_due(ledger& l, wall_time now) const {
  if (has_window(l, now))
    return;
  l.window = 0;
  l.used = l.reserved = {};
}

// Others notice the end of a window when they next touch the ledger; whoever is told of shares hears of it in time.
void budget_ledger::end_due_windows(wall_time now) {
  for (auto first = ends_.begin(); first != ends_.end() && first->first <= now; first = ends_.erase(first)) {
    const auto found = ledgers_.find(first->second);
    if (found == ledgers_.end())
      continue;
    end_window_if_due(found->second, now);
    moved(found->first, found->second);
  }
}

// Tenants that come no more leave nothing behind: what is written down of a window that has ended is worth nothing,
// so it need not be written either. Each look costs what came since the last one.
void budget_ledger::forget_old(wall_time now) {
  if (ledgers_.size() < look_at_)
    return;
  end_due_windows(now);
  std::erase_if(ledgers_, [&](const auto& entry) { return !has_window(entry.second, now) && !entry.second.moved; });
  std::erase_if(changed_, [&](const auto& name) { return !ledgers_.contains(name); });
  look_at_ = std::max<std::size_t>(1024, 2 * ledgers_.size());
}

budget_ledger::verdict budget_ledger::reserve(budget_reservation id, std::string_view tenant, std::string_view route,
                                              const budget_amount& estimate, wall_time wall) {
  if (held_.contains(id))
    return {};
  const auto now = steady(wall);
  forget_old(now);
  verdict v;
  std::vector<ledger_map::iterator> covered;
  auto longest = duration::zero();
  for (const auto i : covering(tenant, route)) {
    covered.push_back(ledger_of(i, tenant));
    auto& l = covered.back()->second;
    end_window_if_due(l, now);
    const auto lacks = shortage_of(budgets_[i], l.used, estimate);
    if (!lacks)
      continue;
    v.admitted = false;
    const auto wait = lacks->hopeless ? duration::max() : l.started + budgets_[i].window - now;
    if (std::exchange(longest, std::max(longest, wait)) < wait)
      v.message = refusal(budgets_[i], *lacks);
  }
  if (!v.admitted) {
    if (longest < duration::max())
      v.retry_after = longest;
    return v;
  }
  hold h{estimate, {}};
  for (const auto& at : covered) {
    auto& [name, l] = *at;
    if (l.window == 0)
      begin_window(name, l, now);
    l.used = l.used + estimate;
    l.reserved = l.reserved + estimate;
    changed(name, l);
    moved(name, l);
    h.shares.push_back({name, l.window});
  }
  held_.emplace(id, std::move(h));
  return v;
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
    if (l.window != s.window)
      continue;
    l.reserved = l.reserved - h.estimate;
    l.used = l.used - h.estimate;
    if (actual)
      l.used = l.used + *actual;
    changed(s.ledger, l);
    moved(s.ledger, l);
  }
}

void budget_ledger::changed(const std::string& name, ledger& l) {
  if (!std::exchange(l.changed, true))
    changed_.push_back(name);
}

void budget_ledger::moved(const std::string& name, ledger& l) {
  if (!std::exchange(l.moved, true))
    moved_.push_back(name);
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
    if (l.window != 0)
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
  for (const auto& s : ledgers)
    restore(s, now, wall);
}

void budget_ledger::restore(const stored_budget& from, wall_time now, wall_time wall) {
  std::size_t end = 0; // of the budget's name, which is four parts
  for (int parts = 0; parts < 4 && end != std::string::npos; ++parts)
    end = from.ledger.find('\0', end + (parts > 0));
  if (end == std::string::npos)
    return;
  const auto of = by_name_.find(from.ledger.substr(0, end + 1));
  if (of == by_name_.end())
    return;
  // With the clock set back a window is as old as when it was written down.
  const auto seen = std::max(wall, from.written_at);
  if (from.window_started <= seen - budgets_[of->second].window)
    return; // it has ended
  const auto started = now - (from.window_started < seen ? seen - from.window_started : duration::zero());
  auto& [name, l] = *ledger_of(of->second, std::string_view{from.ledger}.substr(end + 1));
  end_window_if_due(l, now);
  const bool meanwhile = l.window != 0;
  if (!meanwhile)
    begin_window(name, l, started);
  if (started < l.started) {
    l.started = started;
    ends_.emplace(started + budgets_[of->second].window, name);
  }
  l.used = l.used + from.used;
  moved(name, l);
  if (meanwhile || wall < from.written_at) // the next time it must not be as young again [C18]
    changed(name, l);
}

std::vector<budget_share> budget_ledger::take_shares(wall_time wall) {
  end_due_windows(steady(wall));
  auto all = std::exchange(gone_, {});
  for (const auto& name : std::exchange(moved_, {})) {
    const auto found = ledgers_.find(name);
    if (found == ledgers_.end())
      continue;
    auto& l = found->second;
    l.moved = false;
    const auto& b = budgets_[l.budget];
    const auto part_of = [](auto used, const auto& limit) {
      return limit ? std::optional{static_cast<double>(used) / static_cast<double>(*limit)} : std::nullopt;
    };
    all.push_back({name, l.tenant, b.route, b.window, part_of(l.used.requests, b.requests),
                   part_of(l.used.tokens, b.tokens), part_of(l.used.cost, b.cost)});
  }
  return all;
}

std::optional<duration> budget_ledger::next_end(wall_time wall) {
  const auto now = steady(wall);
  if (ends_.empty())
    return std::nullopt;
  return std::max(ends_.begin()->first - now, duration::zero());
}

std::vector<budget_figures> budget_ledger::describe(wall_time wall) {
  const auto now = steady(wall);
  std::vector<budget_figures> all;
  for (auto& [name, l] : ledgers_) {
    end_window_if_due(l, now);
    if (l.window == 0)
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
