#include "fixture.hpp"

#include "support/catch.hpp"

using namespace switchyard;
using namespace switchyard::metrics::test;
using namespace std::chrono_literals;

TEST_CASE("the state gauge follows states and modes, for each circuit with its labels [M C6]") {
  metrics_fixture f;
  auto alpha = [&] { return f.value("circuit_state", {{"circuit", "alpha"}}); };
  CHECK(alpha() == 0);
  f.change("alpha", circuit_state::closed, circuit_state::open);
  CHECK(alpha() == 1);
  f.change("alpha", circuit_state::open, circuit_state::half_open);
  CHECK(alpha() == 2);
  f.m.on_event(
      switchyard::circuit_mode_event{"alpha", {}, {}, {}, circuit_mode::forced_open, circuit_state::half_open, {}});
  CHECK(alpha() == 3);
  f.change("alpha", circuit_state::half_open, circuit_state::closed, circuit_mode::forced_open);
  CHECK(alpha() == 3);
  f.m.on_event(switchyard::circuit_mode_event{"alpha", {}, {}, {}, circuit_mode::disabled, circuit_state::closed, {}});
  CHECK(alpha() == 4);
  f.m.on_event(switchyard::circuit_mode_event{"alpha", {}, {}, {}, circuit_mode::automatic, circuit_state::open, {}});
  CHECK(alpha() == 1);
  CHECK(f.value("circuit_state", {{"circuit", "beta/m/eu"}, {"provider", "beta"}, {"model", "m"}, {"region", "eu"}}) ==
        0);
}

TEST_CASE("each transition is counted by where it leads from and to [M]") {
  metrics_fixture f;
  for (int i = 0; i < 2; ++i) {
    f.change("alpha", circuit_state::closed, circuit_state::open);
    f.change("alpha", circuit_state::open, circuit_state::half_open);
    f.change("alpha", circuit_state::half_open, circuit_state::closed);
  }
  CHECK(f.value("circuit_transitions_total", {{"circuit", "alpha"}, {"from", "closed"}, {"to", "open"}}) == 2);
  CHECK(f.value("circuit_transitions_total", {{"from", "open"}, {"to", "half_open"}, {"provider", "alpha"}}) == 2);
  CHECK(f.value("circuit_transitions_total", {{"from", "half_open"}, {"to", "closed"}}) == 2);
  CHECK(f.value("circuit_transitions_total", {{"circuit", "alpha"}, {"from", "half_open"}, {"to", "open"}}) == 0);
  CHECK_FALSE(f.value("circuit_transitions_total", {{"from", "closed"}, {"to", "half_open"}})); // there is none
}

TEST_CASE("rates and scores have a series only while they are known [M H8]") {
  metrics_fixture f;
  CHECK(f.series("circuit_failure_rate") == 0);
  f.m.on_event(circuit_rates_event{"alpha", {}, {}, {}, 0.25, std::nullopt});
  CHECK(f.value("circuit_failure_rate", {{"circuit", "alpha"}}) == 0.25);
  CHECK(f.series("circuit_slow_call_rate") == 0);
  f.m.on_event(circuit_rates_event{"alpha", {}, {}, {}, 0.0, 1.0});
  CHECK(f.value("circuit_failure_rate") == 0); // known to be 0 is data
  CHECK(f.value("circuit_slow_call_rate") == 1);
  f.m.on_event(circuit_rates_event{"alpha", {}, {}, {}, std::nullopt, std::nullopt});
  CHECK(f.series("circuit_failure_rate") == 0);
  CHECK(f.series("circuit_slow_call_rate") == 0);

  CHECK(f.series("health_score") == 0);
  f.m.on_event(health_event{"alpha", 0.912});
  CHECK(f.value("health_score", {{"provider", "alpha"}}) == Approx(0.912));
  CHECK(f.series("health_score") == 1);
  f.m.on_event(health_event{"alpha", std::nullopt});
  CHECK(f.series("health_score") == 0);
}

TEST_CASE("refusals are counted for their circuit, and shown as 0 before [M C11]") {
  metrics_fixture f;
  CHECK(f.value("circuit_rejected_total", {{"circuit", "alpha"}}) == 0);
  for (int i = 0; i < 3; ++i)
    f.m.on_event(circuit_refused_event{"alpha", {}, {}, {}, {}, {}, {}});
  CHECK(f.value("circuit_rejected_total", {{"circuit", "alpha"}, {"provider", "alpha"}}) == 3);
  CHECK(f.value("circuit_rejected_total", {{"circuit", "beta/m/eu"}}) == 0);
}

TEST_CASE("a restarted breaker is closed without rates, and keeps an operator's mode [C14]") {
  metrics_fixture f;
  f.change("alpha", circuit_state::closed, circuit_state::open);
  f.m.on_event(circuit_rates_event{"alpha", {}, {}, {}, 0.5, 0.5});
  f.m.on_event(breaker_restarted_event{"alpha", {}});
  CHECK(f.value("circuit_state", {{"circuit", "alpha"}}) == 0);
  CHECK(f.series("circuit_failure_rate") == 0);
  CHECK(f.value("breaker_restarts_total") == 1);
  f.change("alpha", circuit_state::closed, circuit_state::open, circuit_mode::forced_open);
  f.m.on_event(breaker_restarted_event{"alpha", {}});
  CHECK(f.value("circuit_state", {{"circuit", "alpha"}}) == 3);
}

TEST_CASE("attempts are counted by class, successes as such, retries beside [M F]") {
  metrics_fixture f;
  for (int i = 0; i < failure_class_count; ++i) {
    auto c = static_cast<failure_class>(i);
    labels with{{"class", std::string(to_string(c))}};
    INFO(to_string(c));
    CHECK(f.value("attempts_total", with) == 0);
    f.attempt(c, i % 2 == 0);
    CHECK(f.value("attempts_total", with) == 1);
  }
  f.attempt(std::nullopt);
  CHECK(f.value("attempts_total", {{"class", "success"}}) == 1);
  CHECK(f.value("attempts_total") == failure_class_count + 1);
  CHECK(f.value("retries_total") == 9);
}

TEST_CASE("a call goes into the histogram of its outcome, with cumulative buckets from 0.05 to 120 seconds [M]") {
  metrics_fixture f;
  for (auto took : std::vector<switchyard::duration>{10ms, 50ms, 60ms, 3s, 500s})
    f.m.on_event(call_event{"alpha", {}, {}, {}, outcome::success, took});
  f.m.on_event(call_event{"alpha", {}, {}, {}, outcome::failure, 1s});
  f.m.on_event(call_event{"alpha", {}, {}, {}, outcome::hanging, 1s}); // no end of a call
  auto bucket = [&](std::string le) {
    return f.value("call_duration_seconds_bucket", {{"outcome", "success"}, {"le", std::move(le)}});
  };
  std::vector<std::pair<std::string, double>> expected{{"0.05", 2}, {"0.1", 3}, {"0.25", 3}, {"0.5", 3},
                                                       {"1", 3},    {"2.5", 3}, {"5", 4},    {"10", 4},
                                                       {"30", 4},   {"60", 4},  {"120", 4},  {"+Inf", 5}};
  for (const auto& [le, count] : expected) {
    INFO(le);
    CHECK(bucket(le) == count);
  }
  CHECK(f.value("call_duration_seconds_count", {{"outcome", "success"}}) == 5);
  CHECK(f.value("call_duration_seconds_sum", {{"outcome", "success"}}).value() == Approx(503.12));
  CHECK(f.value("call_duration_seconds_count", {{"outcome", "failure"}}) == 1);
  CHECK(f.value("call_duration_seconds_count") == 6);
  for (auto o : {outcome::slow_success, outcome::neutral, outcome::cancelled})
    f.m.on_event(call_event{"alpha", {}, {}, {}, o, 1s});
  for (const char* name : {"slow_success", "neutral", "cancelled"})
    CHECK(f.value("call_duration_seconds_count", {{"outcome", name}}) == 1);
}

TEST_CASE("fallbacks are counted by pair [M B3]") {
  metrics_fixture f;
  CHECK(f.series("fallbacks_total") == 1); // the configured one, so that the first increase shows
  CHECK(f.value("fallbacks_total", {{"from", "chat"}, {"to", "backup"}}) == 0);
  for (int i = 0; i < 3; ++i)
    f.m.on_event(fallback_event{"id", "chat", "backup", failure_class::server_error, {}});
  f.m.on_event(fallback_event{"id", "backup", "chat", failure_class::timeout, {}});
  CHECK(f.value("fallbacks_total", {{"from", "chat"}, {"to", "backup"}}) == 3);
  CHECK(f.value("fallbacks_total", {{"from", "backup"}, {"to", "chat"}}) == 1);
}

TEST_CASE("a budget's gauge follows what is taken of it, for each limit there is [M U1]") {
  metrics_fixture f;
  CHECK(f.series("budget_used_ratio") == 0);
  const auto share = [&](std::string tenant, std::string unit) {
    return f.value("budget_used_ratio", {{"tenant", std::move(tenant)}, {"unit", std::move(unit)}});
  };
  f.m.on_event(budget_event{"l1", "acme", "*", 24h, 0.25, std::nullopt, 0.5});
  f.m.on_event(budget_event{"l2", "globex", "chat", 1h, std::nullopt, 1.5, std::nullopt});
  CHECK(f.value("budget_used_ratio", {{"tenant", "acme"}, {"route", "*"}, {"window", "1d"}, {"unit", "requests"}}) ==
        0.25);
  CHECK(share("acme", "cost") == 0.5);
  CHECK_FALSE(share("acme", "tokens"));
  CHECK(f.value("budget_used_ratio", {{"tenant", "globex"}, {"route", "chat"}, {"window", "1h"}, {"unit", "tokens"}}) ==
        1.5);
  f.m.on_event(budget_event{"l1", "acme", "*", 24h, 0.0, std::nullopt, 0.0}); // the window has ended
  CHECK(share("acme", "requests") == 0);
  CHECK(f.series("budget_used_ratio") == 3);
}

TEST_CASE("of two budgets about the same the gauge shows the fuller one [M U1]") {
  metrics_fixture f;
  f.m.on_event(budget_event{"for each tenant", "acme", "*", 24h, 0.25, {}, {}});
  f.m.on_event(budget_event{"for acme", "acme", "*", 24h, 0.75, {}, {}});
  CHECK(f.value("budget_used_ratio") == 0.75);
  f.m.on_event(budget_event{"for acme", "acme", "*", 24h, 0.0, {}, {}});
  CHECK(f.value("budget_used_ratio") == 0.25);
  CHECK(f.series("budget_used_ratio") == 1);
}

TEST_CASE("every result of a submit with a key has its counter, an unheard-of one is other [M I]") {
  metrics_fixture f;
  for (std::string result :
       {"lead", "join", "replay", "conflict", "in_flight", "unavailable", "rerun", "interrupted"}) {
    CHECK(f.value("idempotency_total", {{"result", result}}) == 0);
    f.m.on_event(idempotency_event{result});
    CHECK(f.value("idempotency_total", {{"result", result}}) == 1);
  }
  f.m.on_event(idempotency_event{"surprise"});
  CHECK(f.value("idempotency_total", {{"result", "other"}}) == 1);
}

TEST_CASE("requests are counted by route and by success, class or error [M]") {
  metrics_fixture f;
  f.request(served("chat"));
  auto failed = served("chat");
  failed.success = false;
  failed.failure = failure_class::circuit_open;
  f.request(failed);
  failed.failure.reset(); // an error of its own without a class, e.g. a key that was reused
  f.request(failed);
  CHECK(f.value("requests_total", {{"route", "chat"}, {"outcome", "success"}}) == 1);
  CHECK(f.value("requests_total", {{"route", "chat"}, {"outcome", "circuit_open"}}) == 1);
  CHECK(f.value("requests_total", {{"route", "chat"}, {"outcome", "error"}}) == 1);
  CHECK(f.value("requests_total", {{"route", "chat"}}) == 3);
}

TEST_CASE("usage counts what was served, and neither replays nor cache hits [M I8 U2]") {
  metrics_fixture f;
  auto r = served("chat");
  r.tokens = {100, 20};
  r.cost = 0.5;
  r.time_to_first_token = 300ms;
  f.request(r);
  auto replayed = r, cached = r;
  replayed.replayed = true;
  cached.cached = true;
  f.request(replayed);
  f.request(cached);
  auto unknown = served("chat"); // no usage, no price
  f.request(unknown);
  CHECK(f.value("requests_total") == 4);
  CHECK(f.value("tokens_total", {{"direction", "input"}}) == 100);
  CHECK(f.value("tokens_total", {{"direction", "output"}}) == 20);
  CHECK(f.value("cost_total") == 0.5);
  CHECK(f.value("time_to_first_token_seconds_count") == 1);
  CHECK(f.value("time_to_first_token_seconds_bucket", {{"le", "0.5"}}) == 1);
  CHECK(f.value("time_to_first_token_seconds_bucket", {{"le", "0.25"}}) == 0);
}

TEST_CASE("in flight goes up and down, dropped rows add up [M H7]") {
  metrics_fixture f;
  CHECK(f.value("in_flight") == 0);
  f.m.request_started();
  f.m.request_started();
  CHECK(f.value("in_flight") == 2);
  f.m.request_finished();
  CHECK(f.value("in_flight") == 1);
  f.m.on_event(telemetry_dropped_event{7});
  f.m.on_event(telemetry_dropped_event{5});
  CHECK(f.value("telemetry_dropped_total") == 12);
}

TEST_CASE("a reload by itself changes no metric [M]") {
  metrics_fixture f;
  auto before = f.m.expose();
  f.m.on_event(reload_event{true, {}});
  CHECK(f.m.expose() == before);
}
