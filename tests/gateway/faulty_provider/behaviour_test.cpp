#include "behaviour.hpp"

#include "support/catch.hpp"

#include <algorithm>
#include <map>

using namespace faulty;
using namespace std::chrono_literals;

namespace {

double mean_seconds(const latency_script& l, int n = 20'000) {
  random_source random(7);
  double sum = 0;
  for (int i = 0; i < n; ++i)
    sum += std::chrono::duration<double>(draw_latency(l, random)).count();
  return sum / n;
}

} // namespace

TEST_CASE("latencies have the mean of their distribution") {
  CHECK(mean_seconds({.shape = distribution::fixed, .mean = 200ms}) == Approx(0.2));
  CHECK(mean_seconds({.shape = distribution::exponential, .mean = 200ms}) == Approx(0.2).epsilon(0.05));
  CHECK(mean_seconds({.shape = distribution::lognormal, .mean = 200ms, .sigma = 0.8}) == Approx(0.2).epsilon(0.05));
  CHECK(mean_seconds({.shape = distribution::uniform, .min = 100ms, .max = 300ms}) == Approx(0.2).epsilon(0.05));
}

TEST_CASE("latencies stay within their bounds") {
  random_source random(7);
  for (const auto shape :
       {distribution::fixed, distribution::uniform, distribution::lognormal, distribution::exponential}) {
    const latency_script l{.shape = shape, .mean = 1s, .min = 100ms, .max = 300ms, .sigma = 2};
    for (int i = 0; i < 1000; ++i) {
      const auto d = draw_latency(l, random);
      REQUIRE(d >= 100ms);
      REQUIRE(d <= 300ms);
    }
  }
}

TEST_CASE("errors and faults come at their rates, the rest are answers") {
  script s;
  s.errors = {{.status = 500, .rate = 0.3}, {.status = 429, .rate = 0.2, .retry_after = 2s}};
  s.faults[static_cast<std::size_t>(fault::malformed_body)] = 0.1;
  random_source random(7);
  std::map<int, int> statuses;
  std::map<behaviour, int> behaviours;
  constexpr int n = 20'000;
  for (int i = 0; i < n; ++i) {
    const auto p = decide(s, nullptr, 0s, random);
    ++behaviours[p.what];
    if (p.what == behaviour::status)
      ++statuses[p.status];
    if (p.what == behaviour::status && p.status == 429)
      REQUIRE(p.retry_after == duration(2s));
  }
  CHECK(statuses[500] == Approx(n * 0.3).epsilon(0.05));
  CHECK(statuses[429] == Approx(n * 0.2).epsilon(0.05));
  CHECK(behaviours[behaviour::malformed_body] == Approx(n * 0.1).epsilon(0.1));
  CHECK(behaviours[behaviour::answer] == Approx(n * 0.4).epsilon(0.05));
  CHECK(behaviours.size() == 3);
}

TEST_CASE("each fault at rate 1 is that behaviour, always") {
  for (std::size_t i = 0; i < fault_names.size(); ++i) {
    script s;
    s.faults[i] = 1;
    random_source random(i);
    for (int n = 0; n < 1000; ++n)
      REQUIRE(to_string(decide(s, nullptr, 0s, random).what) == fault_names[i]);
  }
}

TEST_CASE("one seed gives one sequence, whatever outages cut into it") {
  script s;
  s.latency = {.shape = distribution::exponential, .mean = 1s};
  s.errors = {{.status = 500, .rate = 0.5}};
  random_source a(3), b(3);
  const outage down;
  for (int i = 0; i < 100; ++i) {
    const auto pa = decide(s, nullptr, 0s, a);
    const auto pb = decide(s, i % 3 == 0 ? &down : nullptr, 0s, b);
    if (i % 3 == 0)
      continue;
    REQUIRE(pa.what == pb.what);
    REQUIRE(pa.delay == pb.delay);
  }
}

TEST_CASE("a scheduled outage begins, ends and returns on time") {
  script s;
  s.outages = {{.after = 10s, .length = 5s, .every = 60s, .what = {.kind = outage_kind::reset}}};
  CHECK_FALSE(outage_at(s, 0s));
  CHECK_FALSE(outage_at(s, 10s - 1ns));
  CHECK(outage_at(s, 10s));
  CHECK(outage_at(s, 15s - 1ns));
  CHECK_FALSE(outage_at(s, 15s));
  CHECK_FALSE(outage_at(s, 70s - 1ns));
  CHECK(outage_at(s, 70s));
  CHECK(outage_at(s, 10s + 60s * 1000 + 4s));

  s.outages[0].every.reset();
  CHECK(outage_at(s, 12s));
  CHECK_FALSE(outage_at(s, 72s));

  s.outages[0].length.reset();
  CHECK(outage_at(s, 100'000s));
}

TEST_CASE("a manual outage goes before the schedule, the schedule before errors") {
  script s;
  s.latency.mean = 1s;
  s.errors = {{.status = 500, .rate = 1}};
  random_source random(1);
  CHECK(decide(s, nullptr, 0s, random).status == 500);
  CHECK(decide(s, nullptr, 0s, random).delay == 1s);
  s.outages = {{.what = {.status = 502}}};
  CHECK(decide(s, nullptr, 0s, random).status == 502);
  CHECK(decide(s, nullptr, 0s, random).delay == 0s);
  const outage silence{.kind = outage_kind::silence};
  CHECK(decide(s, &silence, 0s, random).what == behaviour::silence);
}
