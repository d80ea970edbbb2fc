// The ledger against a list of everything that was ever charged, added up anew for every question.

#include "budget_world.hpp"

#include "support/catch.hpp"

#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

using namespace switchyard;
using namespace switchyard::test;

namespace {

// The budgets overlap, and two of them are about the same thing.
std::vector<budget_settings> any_budgets() {
  const auto few = [] { return *rc::gen::inRange<std::uint64_t>(1, 6); };
  const auto some = [] { return *rc::gen::inRange<std::uint64_t>(1, 40); };
  return {budget({}, some(), {}, 60s), about(budget(few(), {}, {}, 45s), "*", "Chat"),
          about(budget({}, {}, 0.25 * static_cast<double>(some()), 100s), "b", "*"),
          about(budget({}, some(), {}, 30s), "b", "chat"), budget(2 * few(), {}, {}, 60s)};
}

struct charge {
  std::string tenant, route;
  budget_amount estimate, counts;
  duration at{};
  bool reserved = true;
  bool known = true; ///< to the ledger: not reserved before a restart
};

using row = std::tuple<std::string, std::string, duration, std::uint64_t, std::uint64_t, double, std::uint64_t,
                       std::uint64_t, double, wall_time>;

// Time is what has passed while the clock went forward [C18].
struct naive_ledger {
  std::vector<budget_settings> budgets;
  std::vector<charge> charges{};
  std::map<std::pair<std::size_t, std::string>, duration> began{};
  duration t{};

  std::optional<duration> window(std::size_t i, const std::string& tenant) const {
    const auto found = began.find({i, tenant});
    return found != began.end() && t - found->second < budgets[i].window ? std::optional{found->second} : std::nullopt;
  }

  budget_amount sum(std::size_t i, const std::string& tenant, bool only_reserved) const {
    budget_amount all;
    const auto since = window(i, tenant);
    for (const auto& c : charges) {
      if (!since || c.at < *since || c.tenant != tenant || !covers(budgets[i], tenant, c.route))
        continue;
      if (only_reserved && !(c.reserved && c.known))
        continue;
      all.requests += c.counts.requests;
      all.tokens += c.counts.tokens;
      all.cost += c.counts.cost;
    }
    return all;
  }

  bool fits(std::size_t i, const budget_amount& used, const budget_amount& more) const {
    const auto& b = budgets[i];
    return (!b.requests || used.requests + more.requests <= *b.requests) &&
           (!b.tokens || used.tokens + more.tokens <= *b.tokens) && (!b.cost || used.cost + more.cost <= *b.cost);
  }

  budget_ledger::verdict reserve(charge c) {
    budget_ledger::verdict v;
    bool hopeless = false;
    for (std::size_t i = 0; i < budgets.size(); ++i) {
      if (!covers(budgets[i], c.tenant, c.route) || fits(i, sum(i, c.tenant, false), c.estimate))
        continue;
      v.admitted = false;
      hopeless = hopeless || !fits(i, {}, c.estimate);
      if (const auto since = window(i, c.tenant))
        v.retry_after = std::max(v.retry_after.value_or(0s), *since + budgets[i].window - t);
    }
    if (hopeless)
      v.retry_after.reset();
    if (!v.admitted)
      return v;
    for (std::size_t i = 0; i < budgets.size(); ++i)
      if (covers(budgets[i], c.tenant, c.route) && !window(i, c.tenant))
        began[{i, c.tenant}] = t;
    c.at = t;
    c.counts = c.estimate;
    charges.push_back(std::move(c));
    return v;
  }

  std::vector<row> rows(wall_time now) const {
    std::vector<row> all;
    for (const auto& [which, since] : began) {
      const auto& [i, tenant] = which;
      if (!window(i, tenant))
        continue;
      const auto used = sum(i, tenant, false), reserved = sum(i, tenant, true);
      all.emplace_back(tenant, budgets[i].route, budgets[i].window, used.requests, used.tokens, used.cost,
                       reserved.requests, reserved.tokens, reserved.cost, now - (t - since));
    }
    std::ranges::sort(all);
    return all;
  }
};

std::vector<row> rows_of(std::vector<budget_figures> figures) {
  std::vector<row> all;
  for (const auto& f : figures)
    all.emplace_back(f.tenant, f.route, f.window, f.used.requests, f.used.tokens, f.used.cost, f.reserved.requests,
                     f.reserved.tokens, f.reserved.cost, f.window_started.value());
  std::ranges::sort(all);
  return all;
}

// Both, and what is written down of the first.
struct twins {
  budget_world real;
  naive_ledger naive;
  std::map<std::string, stored_budget> stored{};

  explicit twins(const std::vector<budget_settings>& budgets) : real(budgets), naive{budgets} {}

  void reserve() {
    charge c;
    c.tenant = std::string(1, *rc::gen::inRange('a', 'd'));
    c.route = *rc::gen::element<std::string>("chat", "CHAT", "other");
    c.estimate = {1, *rc::gen::inRange<std::uint64_t>(0, 20), 0.25 * *rc::gen::inRange(0, 20)};
    const bool admitted = real.reserve(c.estimate, c.tenant, c.route);
    const auto expected = naive.reserve(std::move(c));
    RC_ASSERT(admitted == expected.admitted);
    RC_ASSERT(real.last.retry_after == expected.retry_after);
    RC_ASSERT(admitted == real.last.message.empty());
    if (admitted)
      ids.push_back(real.id);
  }

  void settle() {
    if (ids.empty())
      return;
    const auto which = *rc::gen::inRange<std::size_t>(0, ids.size());
    const auto actual =
        *rc::gen::arbitrary<bool>()
            ? std::optional{budget_amount{1, *rc::gen::inRange<std::uint64_t>(0, 50), 0.25 * *rc::gen::inRange(0, 50)}}
            : std::nullopt;
    real.settle(ids[which], actual);
    auto& c = naive.charges[which];
    if (c.known && std::exchange(c.reserved, false))
      c.counts = actual.value_or(budget_amount{});
  }

  void pass(duration d) {
    real.now += d;
    naive.t += d;
  }

  void write() {
    for (auto& s : real.ledger.take_changed(real.now))
      stored.insert_or_assign(s.ledger, s);
  }

  void restart() {
    write();
    std::vector<stored_budget> all;
    for (const auto& [name, s] : stored)
      all.push_back(s);
    real.ledger = budget_ledger(naive.budgets);
    real.ledger.restore(all, real.now);
    for (auto& c : naive.charges)
      c.known = false;
  }

  std::vector<budget_reservation> ids{}; ///< of the charges, in order
};

} // namespace

TEST_CASE("whatever is done, verdicts, waits and figures are those of a plain list of all charges [U1, C18]") {
  const bool held = rc::check([] {
    twins both(any_budgets());
    const bool restarts = *rc::gen::arbitrary<bool>(); // else the clock is set back
    for (auto steps = *rc::gen::inRange(0, 60); steps > 0; --steps) {
      switch (*rc::gen::weightedElement<int>({{6, 0}, {5, 1}, {3, 2}, {1, 3}, {1, 4}})) {
      case 0:
        both.reserve();
        break;
      case 1:
        both.settle();
        break;
      case 2:
        both.pass(std::chrono::seconds{*rc::gen::element(1, 5, 15, 31, 120)});
        break;
      case 3:
        both.write();
        break;
      default:
        if (restarts)
          both.restart();
        else
          both.real.now -= std::chrono::seconds{*rc::gen::element(1, 40, 100'000)};
      }
      RC_ASSERT(rows_of(both.real.ledger.describe(both.real.now)) == both.naive.rows(both.real.now));
    }
  });
  CHECK(held);
}
