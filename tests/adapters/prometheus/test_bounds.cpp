#include "fixture.hpp"

#include "support/catch.hpp"

#include <random>
#include <thread>

using namespace switchyard;
using namespace switchyard::metrics::test;
using namespace std::chrono_literals;

namespace {

/// One event of each kind with labels, all about `name`.
void send_all(metrics_fixture& f, const std::string& name) {
  f.change(name, circuit_state::closed, circuit_state::open);
  f.m.on_event(switchyard::circuit_mode_event{name, name, name, name, circuit_mode::disabled, circuit_state::open, {}});
  f.m.on_event(circuit_rates_event{name, name, name, name, 0.5, 0.5});
  f.m.on_event(circuit_refused_event{name, name, name, name, name, {}, {}});
  f.m.on_event(breaker_restarted_event{name, {}});
  f.m.on_event(fallback_event{name, name, name, failure_class::timeout, {}});
  f.m.on_event(fallback_event{name, "chat", name, failure_class::timeout, {}});
  f.m.on_event(call_event{name, name, name, name, outcome::failure, 1s});
  f.m.on_event(idempotency_event{name});
  f.m.on_event(health_event{name, 0.5});
  f.m.on_event(budget_event{name, name, "*", 24h, 0.5, 0.5, 0.5});
  attempt_row row;
  row.route = row.provider = row.model = row.region = row.circuit = name;
  row.failure = failure_class::unknown;
  f.m.on_event(attempt_event{name, row, false});
  auto r = served(name);
  r.route = r.provider = r.model = r.region = r.tenant = r.operation = r.code = name;
  f.request(r);
}

} // namespace

TEST_CASE("ten thousand unknown names make one series each family, called other [U5]") {
  metrics_fixture f;
  send_all(f, "first unknown");
  auto bound = f.read().samples.size();
  std::mt19937_64 random(1);
  for (int i = 0; i < 10'000; ++i)
    send_all(f, "unknown " + std::to_string(random()));
  auto e = f.read();
  CHECK(e.samples.size() == bound);
  CHECK(e.value("switchyard_requests_total", {{"route", "other"}, {"outcome", "success"}}) == 10'001);
  CHECK(e.value("switchyard_circuit_rejected_total", {{"circuit", "other"}}) == 10'001);
  CHECK(e.value("switchyard_circuit_transitions_total", {{"circuit", "other"}}) == 10'001);
  CHECK(e.value("switchyard_fallbacks_total", {{"from", "other"}, {"to", "other"}}) == 10'001);
  CHECK(e.value("switchyard_fallbacks_total", {{"from", "chat"}, {"to", "other"}}) == 10'001);
  CHECK(e.value("switchyard_idempotency_total", {{"result", "other"}}) == 10'001);
  for (const auto& s : e.samples)
    for (const auto& [label, text] : s.with)
      CHECK(text.find("unknown ") == std::string::npos);
}

TEST_CASE("one gauge does not stand for several unknown circuits, providers or tenants [H8 U5]") {
  metrics_fixture f;
  send_all(f, "unheard-of");
  auto e = f.read();
  CHECK(e.series("switchyard_circuit_state") == 2);
  CHECK(e.series("switchyard_circuit_failure_rate") == 0);
  CHECK(e.series("switchyard_health_score") == 0);
  CHECK(e.series("switchyard_budget_used_ratio") == 0);
}

TEST_CASE("names that are added later get series of their own, known ones keep theirs [U5]") {
  metrics_fixture f;
  f.request(served("late"));
  f.change("payments", circuit_state::closed, circuit_state::open);
  f.change("alpha", circuit_state::closed, circuit_state::open);
  auto names = two_of_each();
  names.routes.push_back({"late", "alpha", "", ""});
  names.providers.push_back("gamma");
  f.m.configure(names);
  f.m.add_circuit({"payments", "payments", "", ""});
  f.m.add_circuit({"payments", "somebody else", "", ""});
  f.request(served("late"));
  f.m.on_event(health_event{"gamma", 1.0});
  CHECK(f.value("circuit_state", {{"circuit", "payments"}, {"provider", "payments"}}) == 0);
  CHECK(f.value("circuit_rejected_total", {{"circuit", "payments"}}) == 0);
  CHECK(f.value("circuit_state", {{"circuit", "alpha"}}) == 1);
  CHECK(f.value("requests_total", {{"route", "late"}}) == 1);
  CHECK(f.value("requests_total", {{"route", "other"}}) == 1);
  CHECK(f.value("health_score", {{"provider", "gamma"}}) == 1);
  CHECK(f.series("circuit_state") == 3);
}

TEST_CASE("gauges of what a reload took away kept their alerts up: they go, counters stay [M]") {
  metrics_fixture f;
  f.change("alpha", circuit_state::closed, circuit_state::open);
  f.m.on_event(health_event{"alpha", 0.5});
  auto names = two_of_each();
  names.circuits.erase(names.circuits.begin());
  names.providers.erase(names.providers.begin());
  f.m.configure(names);
  CHECK_FALSE(f.value("circuit_state", {{"circuit", "alpha"}}));
  CHECK_FALSE(f.value("health_score", {{"provider", "alpha"}}));
  CHECK(f.value("circuit_transitions_total", {{"circuit", "alpha"}, {"to", "open"}}) == 1);
  CHECK(f.series("circuit_state") == 1);
  f.m.configure(two_of_each());
  CHECK(f.value("circuit_state", {{"circuit", "alpha"}}) == 0); // one that comes back is a new one
}

TEST_CASE("far more circuits than expected are all found [U5]") {
  metrics::metrics m({});
  constexpr int count = 20'000;
  for (int i = 0; i < count; ++i)
    m.add_circuit({"c" + std::to_string(i), "p", "", ""});
  for (int i = 0; i < count; ++i) {
    auto id = "c" + std::to_string(i);
    m.on_event(circuit_refused_event{id, {}, {}, {}, {}, {}, {}});
  }
  auto e = read_exposition(m.expose());
  CHECK(e.series("switchyard_circuit_rejected_total") == count);
  CHECK(e.value("switchyard_circuit_rejected_total") == count);
}

TEST_CASE("events of four threads, names that are added and scrapes at once lose nothing [M]") {
  metrics_fixture f;
  constexpr int each = 5'000, thread_count = 4;
  std::vector<std::thread> threads;
  for (int t = 0; t < thread_count; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < each; ++i) {
        f.m.request_started();
        f.attempt(failure_class::server_error, true);
        f.request(served(i % 2 ? "chat" : "nobody"));
        f.change("alpha", circuit_state::closed, circuit_state::open);
        f.m.on_event(circuit_refused_event{"late", {}, {}, {}, {}, {}, {}});
        f.m.on_event(fallback_event{"id", "chat", "backup", failure_class::timeout, {}});
        f.m.on_event(call_event{"alpha", {}, {}, {}, outcome::success, 1s});
        f.m.request_finished();
      }
    });
  std::size_t invalid = 0;
  for (int i = 0; i < 20; ++i) {
    f.m.add_circuit({"circuit " + std::to_string(i), "p", "", ""});
    if (i == 10)
      f.m.add_circuit({"late", "p", "", ""});
    invalid += f.read().errors.size();
  }
  for (auto& t : threads)
    t.join();
  constexpr double total = each * thread_count;
  CHECK(invalid == 0);
  CHECK(f.value("attempts_total", {{"class", "server_error"}}) == total);
  CHECK(f.value("retries_total") == total);
  CHECK(f.value("requests_total", {{"route", "chat"}}) == total / 2);
  CHECK(f.value("requests_total", {{"route", "other"}}) == total / 2);
  CHECK(f.value("circuit_transitions_total", {{"circuit", "alpha"}}) == total);
  CHECK(f.value("circuit_rejected_total") == total); // of the late circuit and, before it was known, of other
  CHECK(f.value("fallbacks_total") == total);
  CHECK(f.value("call_duration_seconds_count") == total);
  CHECK(f.value("in_flight") == 0);
}
