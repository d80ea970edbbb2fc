#include "fixture.hpp"

#include "support/rendezvous.hpp"

#include <boost/asio/use_future.hpp>

#include <thread>

using namespace switchyard;
using namespace switchyard::test;
namespace asio = boost::asio;

namespace {

// A circuit that is half-open: its cooldown ends by the breaker's own timer.
struct half_open_circuit {
  half_open_circuit() {
    guard.try_acquire()->failure();
    watch->wait_for(circuit_state::half_open);
  }

  static circuit_settings profile() {
    circuit_settings s;
    s.consecutive_failures = 1;
    s.cooldown = 10ms;
    s.probe_lease = 1h;
    return s;
  }

  runtime rt = guards_only(profile());
  std::shared_ptr<state_watch> watch = std::make_shared<state_watch>();
  std::shared_ptr<void> watching = rt.observe(watch);
  circuit_guard guard = rt.circuit("payments");

  // A busy machine may take longer to answer than try_acquire waits; that refusal is not the subject here.
  acquisition probe() {
    for (;;)
      if (auto a = guard.try_acquire())
        return a;
  }
};

} // namespace

TEST_CASE("of many simultaneous callers exactly one is the probe [C7]") {
  half_open_circuit c;
  constexpr int threads = 8;
  std::vector<std::optional<permit>> permits(threads);
  std::atomic<int> granted = 0;
  switchyard::test::rendezvous start{threads}, end{threads};
  std::vector<std::thread> callers;
  for (int t = 0; t < threads; ++t)
    callers.emplace_back([&, t] {
      start.arrive_and_wait();
      do {
        if (auto a = c.guard.try_acquire()) {
          permits[t].emplace(std::move(*a));
          ++granted;
        }
      } while (granted == 0);
      end.arrive_and_wait();
      for (int i = 0; i < 100; ++i)
        if (auto more = c.guard.try_acquire())
          ++granted;
    });
  for (auto& t : callers)
    t.join();
  CHECK(granted == 1);

  for (auto& p : permits)
    if (p) {
      CHECK(p->is_probe());
      CHECK(p->success());
    }
  CHECK(c.watch->wait_for(circuit_state::closed) == "probes_succeeded");
  CHECK(c.guard.try_acquire());
}

TEST_CASE("asynchronous callers share one probe too [C7]") {
  half_open_circuit c;
  std::vector<std::future<acquisition>> asked;
  for (int i = 0; i < 20; ++i)
    asked.push_back(c.guard.async_acquire(asio::use_future));
  std::vector<permit> permits;
  for (auto& f : asked)
    if (auto a = value_of(std::move(f)))
      permits.push_back(std::move(*a));
  REQUIRE(permits.size() == 1);
  CHECK(permits.front().is_probe());
}

TEST_CASE("a probe that is dropped or neutral gives its slot to the next caller [C8, C16]") {
  half_open_circuit c;
  { const auto dropped = c.probe(); }
  auto second = c.probe();
  CHECK(second->is_probe());
  CHECK(second->neutral());
  auto third = c.probe();
  CHECK(third->is_probe());
  CHECK(third->success());
  CHECK(c.watch->wait_for(circuit_state::closed) == "probes_succeeded");
}

TEST_CASE("a failed probe opens again, and reporting it twice mints no slot [C8, C9]") {
  half_open_circuit c;
  auto probe = c.probe();
  CHECK(probe->failure());
  CHECK(c.watch->wait_for(circuit_state::half_open, 2) == "cooldown");
  CHECK_FALSE(probe->success());
  CHECK(c.guard.refused_reports() == 1);
  CHECK(c.guard.state() == circuit_state::half_open);
}
