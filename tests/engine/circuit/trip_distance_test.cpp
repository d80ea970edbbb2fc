#include "driven_circuit.hpp"

#include "support/catch.hpp"

#include <rapidcheck.h>

#include <limits>

using namespace switchyard;
using namespace switchyard::test;

namespace {

using entry = outcome_window::entry;
constexpr auto never = std::numeric_limits<std::uint32_t>::max();

/// A window with the entries that may still be amended.
struct amendable_window {
  outcome_window window;
  std::vector<window_entry> slow;
};

/// The length of the shortest sequence of outcomes and amendments that trips, or `limit` if none is shorter.
std::uint32_t shortest_trip(const window_settings& s, const amendable_window& w, std::uint32_t limit) {
  auto best = limit;
  const auto go_on = [&](const amendable_window& next) {
    const bool tripped = !tripped_rule(s, next.window.totals(start)).empty();
    best = std::min(best, tripped ? 1 : 1 + shortest_trip(s, next, best - 1));
  };
  for (const auto e : {entry::failure, entry::slow, entry::success}) {
    if (best <= 1)
      return best;
    auto next = w;
    const auto name = next.window.add(e, start);
    if (e == entry::slow)
      next.slow.push_back(name);
    go_on(next);
  }
  for (std::size_t i = 0; i < w.slow.size() && best > 1; ++i) {
    auto next = w;
    next.window.slow_to_failure(next.slow[i], start);
    next.slow.erase(next.slow.begin() + static_cast<std::ptrdiff_t>(i));
    go_on(next);
  }
  return best;
}

/// Compares the bound with brute force for every state that a string of up to `length` entries leads to.
/// Returns how often the bound was exact.
std::pair<std::uint32_t, std::uint32_t> check_all(const window_settings& s, const amendable_window& w, int length) {
  constexpr std::uint32_t horizon = 5;
  const auto bound = outcomes_to_trip(s, w.window.totals(start));
  const auto shortest = shortest_trip(s, w, horizon);
  if (bound == 0 || (shortest < horizon && bound > shortest))
    FAIL("bound " << bound << ", but " << shortest << " outcomes trip");
  std::pair<std::uint32_t, std::uint32_t> exact_of{std::min(bound, horizon) == shortest, 1};
  for (const auto e : {entry::failure, entry::slow, entry::success}) {
    if (length == 0)
      break;
    auto next = w;
    const auto name = next.window.add(e, start);
    if (e == entry::slow)
      next.slow.push_back(name);
    const auto [exact, of] = check_all(s, next, length - 1);
    exact_of.first += exact;
    exact_of.second += of;
  }
  return exact_of;
}

window_settings small_window(window_settings::kind type, std::uint32_t size, std::uint32_t minimum) {
  window_settings s;
  s.type = type;
  s.size = size;
  s.minimum_calls = minimum;
  return s;
}

} // namespace

TEST_CASE("no sequence of outcomes shorter than the distance trips, in every small window [C4]") {
  std::uint32_t exact = 0, all = 0;
  for (const auto type : {window_settings::kind::count, window_settings::kind::time}) {
    for (std::uint32_t minimum = 1; minimum <= 4; ++minimum) {
      for (const double rate : {0.3, 0.5, 2.0 / 3, 1.0}) {
        auto s = small_window(type, 4, minimum);
        s.failure_rate = rate;
        const auto only_failures = check_all(s, {outcome_window(s), {}}, 4);
        s.slow_call_rate = 0.75;
        const auto both = check_all(s, {outcome_window(s), {}}, 3);
        exact += only_failures.first + both.first;
        all += only_failures.second + both.second;
      }
    }
  }
  CHECK(exact * 10 >= all * 8); // and it is seldom less than it could be
}

TEST_CASE("the distance is what one would work out by hand [C4]") {
  window_settings s; // count, 100
  CHECK(outcomes_to_trip(s, {}) == never);
  s.failure_rate = 0.5;
  CHECK(outcomes_to_trip(s, {}) == 10);          // the minimum of calls
  CHECK(outcomes_to_trip(s, {9, 0, 0}) == 9);    // 9 of 18
  CHECK(outcomes_to_trip(s, {9, 4, 0}) == 1);    // 5 of 10
  CHECK(outcomes_to_trip(s, {100, 0, 0}) == 50); // old entries leave
  CHECK(outcomes_to_trip(s, {100, 49, 0}) == 1);
  CHECK(outcomes_to_trip(s, {100, 60, 0}) == 1);  // the rule holds already: the next outcome trips
  CHECK(outcomes_to_trip(s, {60, 20, 0}) == 20);  // 40 of 80
  CHECK(outcomes_to_trip(s, {60, 20, 30}) == 10); // ten of the slow ones fail
  s.slow_call_rate = 0.5;
  CHECK(outcomes_to_trip(s, {100, 0, 49}) == 1);
  s.slow_call_rate.reset();
  s.type = window_settings::kind::time;
  CHECK(outcomes_to_trip(s, {1'000, 0, 0}) == 1'000); // 1,000 of 2,000
  s.failure_rate = 1.0;
  CHECK(outcomes_to_trip(s, {1'000, 999, 0}) == never); // one success never leaves by traffic alone
  CHECK(outcomes_to_trip(s, {1'000, 999, 1}) == 1);     // but this one may fail yet
}

TEST_CASE("the distance never exceeds what a random sequence needs, whatever the sizes [C4]") {
  REQUIRE(rc::check("distance of random windows", [] {
    window_settings s;
    s.type = *rc::gen::element(window_settings::kind::count, window_settings::kind::time);
    s.size = *rc::gen::inRange(1u, 3'000u);
    s.minimum_calls = *rc::gen::inRange(1u, s.size + 1);
    s.failure_rate = *rc::gen::inRange(1, 1'001) / 1'000.0;
    outcome_window w(s);
    std::vector<window_entry> slow;
    const auto shares = *rc::gen::pair(rc::gen::inRange(0, 101), rc::gen::inRange(0, 101));
    const auto calls = *rc::gen::inRange(0, 4'000);
    for (int i = 0; i < calls; ++i) {
      const bool fails = (i * 37 + 11) % 101 < shares.first, drags = (i * 53 + 7) % 101 < shares.second;
      const auto name = w.add(fails ? entry::failure : drags ? entry::slow : entry::success, start);
      if (!fails && drags)
        slow.push_back(name);
    }
    if (!tripped_rule(s, w.totals(start)).empty())
      RC_DISCARD("tripped already");
    const auto bound = outcomes_to_trip(s, w.totals(start));
    // The quickest way to a trip: failures, by amendment while there is something to amend.
    for (std::uint32_t n = 1; n < std::min(bound, 5'000u); ++n) {
      if (slow.empty()) {
        w.add(entry::failure, start);
      } else {
        w.slow_to_failure(slow.back(), start);
        slow.pop_back();
      }
      RC_ASSERT(tripped_rule(s, w.totals(start)).empty());
    }
  }));
}

TEST_CASE("a closed circuit cannot open within its distance, by any reports [C4][C17]") {
  REQUIRE(rc::check("distance of random circuits", [] {
    auto s = streak_profile(*rc::gen::inRange(1u, 30u));
    if (*rc::gen::arbitrary<bool>()) {
      window_settings w;
      w.type = *rc::gen::element(window_settings::kind::count, window_settings::kind::time);
      w.size = *rc::gen::inRange(1u, 40u);
      w.span = *rc::gen::inRange(1, 20) * 1s;
      w.minimum_calls = *rc::gen::inRange(1u, w.size + 1);
      if (*rc::gen::arbitrary<bool>())
        w.failure_rate = *rc::gen::inRange(1, 101) / 100.0;
      if (*rc::gen::arbitrary<bool>())
        w.slow_call_rate = *rc::gen::inRange(1, 101) / 100.0;
      s.window = w;
    }
    driven_circuit c(s);
    std::vector<std::uint32_t> hanging;
    auto promised = c.it.distance(c.now);
    std::uint32_t since = 0;
    const auto steps = *rc::gen::container<std::vector<std::pair<int, int>>>(
        rc::gen::pair(rc::gen::inRange(0, 10), rc::gen::inRange(0, 100)));
    for (const auto& [what, amount] : steps) {
      if (what == 9) {
        c.pass(amount * 20ms);
        continue;
      }
      if (what == 8) { // publish
        promised = c.it.distance(c.now);
        since = 0;
        RC_ASSERT(promised.outcomes >= 1);
        RC_ASSERT(promised.valid_until > c.now);
        continue;
      }
      ++since;
      if (what >= 6 && !hanging.empty()) {
        const auto i = static_cast<std::size_t>(amount) % hanging.size();
        c.end_hanging(hanging[i], what == 6 ? outcome::failure : outcome::success);
        hanging.erase(hanging.begin() + static_cast<std::ptrdiff_t>(i));
      } else if (what == 5) {
        hanging.push_back(c.hang());
      } else {
        c.end(what == 4 ? outcome::failure : all_outcomes[what % 5]);
      }
      if (c.it.state() == circuit_state::open) {
        RC_ASSERT(since >= promised.outcomes || c.now >= promised.valid_until);
        return;
      }
    }
  }));
}

TEST_CASE("fewer failures than their distance do not trip, with any number of successes among them [C4]") {
  rc::check("successes among few failures", [] {
    window_settings s;
    s.type = *rc::gen::element(window_settings::kind::count, window_settings::kind::time);
    s.size = *rc::gen::inRange(1u, 40u);
    s.minimum_calls = *rc::gen::inRange(1u, s.size + 1);
    s.failure_rate = *rc::gen::element(0.1, 0.3, 0.5, 2.0 / 3, 1.0);
    if (*rc::gen::arbitrary<bool>())
      s.slow_call_rate = *rc::gen::element(0.2, 0.5, 1.0);
    amendable_window w{outcome_window(s), {}};
    const auto add = [&](entry e) {
      const auto name = w.window.add(e, start);
      if (e == entry::slow)
        w.slow.push_back(name);
    };
    for (const auto e :
         *rc::gen::container<std::vector<entry>>(rc::gen::element(entry::success, entry::slow, entry::failure)))
      add(e);
    RC_PRE(tripped_rule(s, w.window.totals(start)).empty());
    const auto distance = failures_to_trip(s, w.window.totals(start));
    const auto successes = rc::gen::inRange(0, 60);
    for (std::uint32_t i = 1; i < distance && i < 50; ++i) {
      for (int n = *successes; n > 0; --n) {
        add(entry::success);
        RC_ASSERT(tripped_rule(s, w.window.totals(start)).empty());
      }
      if (!w.slow.empty() && *rc::gen::arbitrary<bool>()) {
        w.window.slow_to_failure(w.slow.back(), start);
        w.slow.pop_back();
      } else {
        add(*rc::gen::element(entry::slow, entry::failure));
      }
      RC_ASSERT(tripped_rule(s, w.window.totals(start)).empty());
    }
  });
}

TEST_CASE("the distance in failures is what one would work out by hand [C4]") {
  window_settings s; // count, 100, at least 10
  CHECK(failures_to_trip(s, {}) == never);
  s.failure_rate = 0.5;
  CHECK(failures_to_trip(s, {}) == 5);
  CHECK(failures_to_trip(s, {5, 5, 0}) == 0); // five successes complete the minimum, and trip
  CHECK(failures_to_trip(s, {9, 4, 0}) == 1);
  CHECK(failures_to_trip(s, {100, 0, 0}) == 50);
  s.slow_call_rate = 0.2;
  CHECK(failures_to_trip(s, {100, 0, 5}) == 15);
}

TEST_CASE("successes added at once leave the window as successes added one by one [C2]") {
  rc::check("runs of successes", [] {
    window_settings s;
    s.type = *rc::gen::element(window_settings::kind::count, window_settings::kind::time);
    s.size = *rc::gen::inRange(1u, 20u);
    outcome_window at_once(s), one_by_one(s);
    const auto steps = *rc::gen::inRange(1, 30);
    for (int i = 0; i < steps; ++i) {
      const auto n = *rc::gen::inRange(1u, 50u);
      at_once.add_successes(n, start);
      for (std::uint32_t k = 0; k < n; ++k)
        one_by_one.add(entry::success, start);
      const auto e = *rc::gen::element(entry::slow, entry::failure);
      const auto a = at_once.add(e, start), b = one_by_one.add(e, start);
      RC_ASSERT(a.position == b.position);
      const auto x = at_once.totals(start), y = one_by_one.totals(start);
      RC_ASSERT(x.calls == y.calls);
      RC_ASSERT(x.failures == y.failures);
      RC_ASSERT(x.slow == y.slow);
    }
  });
}
