#include "driven_circuit.hpp"

#include "support/catch.hpp"

#include <rapidcheck.h>

using namespace switchyard;
using namespace switchyard::test;

namespace {

using entry = outcome_window::entry;

window_settings counted(std::uint32_t size) {
  window_settings w;
  w.size = size;
  return w;
}

window_settings timed(duration span) {
  window_settings w;
  w.type = window_settings::kind::time;
  w.span = span;
  return w;
}

std::string shown(const window_totals& t) {
  return std::to_string(t.calls) + " calls, " + std::to_string(t.failures) + " failed, " + std::to_string(t.slow) +
         " slow";
}

/// Keeps every entry and recounts.
class naive_window {
public:
  explicit naive_window(const window_settings& s) : settings_(s) {}

  void add(entry e, time_point at) { all_.push_back({e, at}); }
  void clear() { all_.clear(); }
  entry& at(std::size_t i) { return all_[i].first; }
  std::size_t size() const { return all_.size(); }

  bool holds(std::size_t i, time_point now) const {
    if (settings_.type == window_settings::kind::count)
      return all_.size() - i <= settings_.size;
    const auto width = settings_.span / 32;
    const auto bucket = [&](time_point t) { return t.time_since_epoch() / width; };
    auto newest = bucket(now);
    for (const auto& e : all_)
      newest = std::max(newest, bucket(e.second));
    return newest - bucket(all_[i].second) < 32;
  }

  window_totals totals(time_point now) const {
    window_totals t;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (!holds(i, now))
        continue;
      ++t.calls;
      t.failures += all_[i].first == entry::failure;
      t.slow += all_[i].first == entry::slow;
    }
    return t;
  }

private:
  window_settings settings_;
  std::vector<std::pair<entry, time_point>> all_;
};

} // namespace

TEST_CASE("a count window holds the last N outcomes [C2]") {
  outcome_window w(counted(3));
  w.add(entry::failure, start);
  w.add(entry::slow, start);
  w.add(entry::success, start);
  CHECK(shown(w.totals(start)) == "3 calls, 1 failed, 1 slow");
  w.add(entry::success, start);
  CHECK(shown(w.totals(start)) == "3 calls, 0 failed, 1 slow");
  w.add(entry::failure, start);
  CHECK(shown(w.totals(start)) == "3 calls, 1 failed, 0 slow");
  CHECK(w.stable_until(start) == time_point::max());
  w.clear();
  CHECK(shown(w.totals(start)) == "0 calls, 0 failed, 0 slow");
}

TEST_CASE("a time window counts an outcome for at least 31/32 of its span and never longer than it [C2][C18]") {
  outcome_window w(timed(32s));
  const auto offset = GENERATE(0ms, 1ms, 500ms, 999ms);
  w.add(entry::failure, start + offset);
  CHECK(w.stable_until(start + offset) == start + 32s);
  CHECK(w.totals(start + 32s - 1ns).failures == 1);
  CHECK(w.totals(start + 32s).calls == 0);
  CHECK(w.stable_until(start + 32s) == time_point::max());
  CHECK(w.totals(start + 1000h).calls == 0);
}

TEST_CASE("an outcome slightly out of order goes to its own bucket, one too old is dropped [C2]") {
  outcome_window w(timed(32s));
  w.add(entry::failure, start + 10s);
  w.add(entry::slow, start);
  w.add(entry::success, start - 22s);
  CHECK(shown(w.totals(start + 10s)) == "2 calls, 1 failed, 1 slow");
  CHECK(shown(w.totals(start + 32s)) == "1 calls, 1 failed, 0 slow");
}

TEST_CASE("a time window works before the clock's zero [C18]") {
  outcome_window w(timed(32s));
  const time_point zero{};
  w.add(entry::failure, zero - 100ms);
  w.add(entry::failure, zero + 100ms);
  CHECK(w.totals(zero + 31s - 1ns).failures == 2);
  CHECK(w.totals(zero + 31s).failures == 1);
}

TEST_CASE("a time window much denser than its buckets stays exact [C2]") {
  outcome_window w(timed(1s));
  for (int i = 0; i < 100'000; ++i)
    w.add(i % 4 == 0 ? entry::failure : entry::success, start + i * 1us);
  CHECK(shown(w.totals(start + 100ms)) == "100000 calls, 25000 failed, 0 slow");
}

TEST_CASE("windows equal a naive recount, amendments included [C2][C17]") {
  REQUIRE(rc::check("windows equal a naive recount", [] {
    const auto settings = *rc::gen::oneOf(rc::gen::map(rc::gen::inRange(1, 20), [](int n) { return counted(n); }),
                                          rc::gen::map(rc::gen::inRange(1, 5), [](int s) { return timed(s * 1s); }));
    outcome_window window(settings);
    naive_window naive(settings);
    std::vector<window_entry> names;
    auto now = start;
    const auto steps = *rc::gen::container<std::vector<std::tuple<int, int, int>>>(
        rc::gen::tuple(rc::gen::inRange(0, 12), rc::gen::inRange(0, 3), rc::gen::inRange(0, 1000)));
    for (const auto& [what, kind, amount] : steps) {
      if (what < 8) { // an outcome, up to a second late
        const auto at = now - (amount % 2 == 0 ? 0ms : amount * 1ms);
        names.push_back(window.add(static_cast<entry>(kind), at));
        naive.add(static_cast<entry>(kind), at);
      } else if (what < 10) {
        now += amount * 1ms * (kind == 2 ? 10 : 1);
      } else if (what == 10 && naive.size() != 0) {
        const auto i = static_cast<std::size_t>(amount) % naive.size();
        if (naive.at(i) == entry::slow) {
          window.slow_to_failure(names[i], now);
          if (naive.holds(i, now))
            naive.at(i) = entry::failure;
        }
      } else if (amount == 0) {
        window.clear();
        naive.clear();
        names.clear();
      }
      RC_ASSERT(shown(window.totals(now)) == shown(naive.totals(now)));
      const auto until = window.stable_until(now);
      if (until != time_point::max()) {
        RC_ASSERT(until > now);
        RC_ASSERT(shown(window.totals(until - 1ns)) == shown(naive.totals(now)));
        RC_ASSERT(window.totals(until).calls < naive.totals(now).calls);
      }
    }
  }));
}

TEST_CASE("a rate holds when it is reached exactly, whatever its decimals [C1]") {
  window_settings w;
  w.minimum_calls = 1;
  for (std::uint32_t percent = 1; percent <= 100; ++percent) {
    w.failure_rate = percent / 100.0;
    for (const std::uint32_t hundreds : {1u, 7u, 33u, 1'000u}) {
      const auto calls = hundreds * 100;
      const auto needed = hundreds * percent;
      REQUIRE(tripped_rule(w, {calls, needed, 0}) == "failure_rate");
      REQUIRE(tripped_rule(w, {calls, needed - 1, 0}).empty());
    }
  }
  w.failure_rate = 0.3;
  CHECK(tripped_rule(w, {10, 3, 0}) == "failure_rate");
  w.failure_rate = 1.0 / 3;
  CHECK(tripped_rule(w, {9, 3, 0}) == "failure_rate");
}

TEST_CASE("no rule holds below the minimum of calls or without a rate [C1]") {
  window_settings w;
  CHECK(tripped_rule(w, {100, 100, 0}).empty());
  w.minimum_calls = 10;
  w.failure_rate = 0.5;
  w.slow_call_rate = 0.5;
  CHECK(tripped_rule(w, {}).empty());
  CHECK(tripped_rule(w, {9, 9, 0}).empty());
  CHECK(tripped_rule(w, {10, 0, 5}) == "slow_call_rate");
  CHECK(tripped_rule(w, {10, 5, 5}) == "failure_rate");
}
