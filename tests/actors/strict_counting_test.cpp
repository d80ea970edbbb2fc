// Strict counting under load, on CAF's own scheduler: what circuit_cell_threads_test.cpp shows of the cell with a
// breaker made for that test, shown of the breaker actor, the directory and the handle that requests use.

#include "support/actor_fixture.hpp"

#include "switchyard/actors/directory.hpp"

#include "support/rendezvous.hpp"

#include <atomic>
#include <chrono>
#include <thread>

using namespace switchyard;
using namespace switchyard::test;

namespace {

constexpr int callers = 64;
constexpr std::uint32_t threshold = 5;

// A circuit with its directory and breaker, on the real scheduler and clock.
class live_circuit {
public:
  explicit live_circuit(circuit_settings s) : config_(false), system(config_) {
    auto made = std::make_shared<services>();
    made->events = &events;
    made->wall_clock = [] { return wall_start; };
    made->random = [] { return std::uint64_t{1}; };
    handle = registry_->add(std::make_shared<circuit_handle>(circuit_id{"p", {}, {}}, s));
    directory = spawn_directory(system, registry_, std::move(made));
    caf::scoped_actor self{system};
    figures(self); // its first answer says that every circuit has a breaker
  }

  ~live_circuit() {
    caf::anon_send_exit(directory, caf::exit_reason::user_shutdown);
    caf::anon_send_exit(handle->breaker(), caf::exit_reason::user_shutdown);
    handle->set_breaker(breaker_actor{});
    directory = directory_actor{};
  }

  static time_point now() { return std::chrono::steady_clock::now(); }

  // From any thread, as is `figures`.
  void reset(caf::scoped_actor& self) {
    self->request(handle->breaker(), caf::infinite, reset_circuit{})
        .receive([](const done&) {}, [](const caf::error&) {});
  }

  circuit_snapshot figures(caf::scoped_actor& self) {
    circuit_snapshot found{};
    self->request(directory, caf::infinite, list_circuits{})
        .receive([&](const std::vector<circuit_description>& all) { found = all.at(0).figures; },
                 [](const caf::error&) {});
    return found;
  }

  // As a request is admitted: by the view, and where that does not suffice by the breaker.
  admission_verdict admit(caf::scoped_actor& self) {
    const auto fast = handle->cell().try_admit(now());
    admission_verdict verdict;
    verdict.generation = fast.generation;
    if (fast.what == fast_admission::kind::admitted)
      verdict.what = admission_verdict::kind::admitted;
    if (fast.what != fast_admission::kind::ask)
      return verdict;
    self->request(handle->breaker(), caf::infinite, probe_request{})
        .receive([&](const admission_verdict& v) { verdict = v; }, [](const caf::error&) {});
    return verdict;
  }

  // Calls `recorded` as soon as the outcome counts: in the queue before anybody is woken, else once the message is
  // sent.
  template <class Recorded>
  void report(const admission_verdict& permit, outcome what, Recorded recorded) {
    outcome_report r;
    r.generation = permit.generation;
    r.probe = permit.probe;
    r.what = what;
    r.at = now();
    const auto receipt = handle->cell().report(r);
    r.ticket = receipt.ticket;
    if (receipt.queued) {
      recorded();
      if (receipt.wake)
        caf::anon_send(handle->breaker(), drain_reports{});
    } else {
      caf::anon_send(handle->breaker(), overflow_report{r});
      recorded();
    }
  }

  void report(const admission_verdict& permit, outcome what) {
    report(permit, what, [] {});
  }

private:
  actor_config config_;
  std::shared_ptr<circuit_registry> registry_ = std::make_shared<circuit_registry>();

public:
  event_recorder events;
  caf::actor_system system;
  std::shared_ptr<circuit_handle> handle;
  directory_actor directory;
};

// Runs `round` on all callers at once, `rounds` times; `between` runs alone before each.
template <class Round, class Between>
void in_rounds(caf::actor_system& system, int rounds, Round round, Between between) {
  test::rendezvous gate(callers + 1);
  std::vector<std::jthread> threads;
  for (int i = 0; i < callers; ++i)
    threads.emplace_back([&, i] {
      caf::scoped_actor self{system};
      for (int n = 0; n < rounds; ++n) {
        gate.arrive_and_wait();
        round(self, i);
        gate.arrive_and_wait();
      }
    });
  for (int n = 0; n < rounds; ++n) {
    between();
    gate.arrive_and_wait();
    gate.arrive_and_wait();
  }
}

// Which generation failed last, and how many of its failures were recorded: one word, so that a call reads both at
// once when it begins.
class failure_note {
public:
  struct seen {
    std::uint32_t generation, failures;
  };
  seen read() const {
    const auto word = word_.load();
    return {static_cast<std::uint32_t>(word >> 32), static_cast<std::uint32_t>(word)};
  }
  void add(std::uint32_t generation) {
    auto word = word_.load();
    std::uint64_t next = 0;
    do {
      if (static_cast<std::uint32_t>(word >> 32) > generation)
        return;
      const bool same = word >> 32 == generation;
      next = same ? word + 1 : (static_cast<std::uint64_t>(generation) << 32 | 1);
    } while (!word_.compare_exchange_weak(word, next));
  }

private:
  std::atomic<std::uint64_t> word_{0};
};

} // namespace

// A call that begins after the fifth failure was recorded must not reach the provider. Every call fails and notes that
// it did; a call that is admitted looks at what was noted when it began. A round ends when the circuit has opened and
// somebody has reset it, which begins a generation. The callers do not wait for each other: rounds overlap as they
// like.
TEST_CASE("strict counting under load: no call begun after the fifth failure reaches the provider [C4]") {
  constexpr std::uint64_t rounds = 10'000;
  circuit_settings s;
  s.consecutive_failures = threshold;
  s.cooldown = s.max_cooldown = 1h;
  live_circuit c{s};

  failure_note note;
  std::atomic<std::uint64_t> opened{0}, admitted{0}, too_late{0};
  std::atomic<bool> resetting{false};
  const auto caller = [&] {
    caf::scoped_actor self{c.system};
    while (opened < rounds) {
      const auto before = note.read();
      const auto permit = c.admit(self);
      if (permit.what == admission_verdict::kind::admitted) {
        ++admitted;
        too_late += before.generation > permit.generation ||
                    (before.generation == permit.generation && before.failures >= threshold);
        c.report(permit, outcome::failure, [&] { note.add(permit.generation); });
      } else if (!resetting.exchange(true)) {
        if (c.handle->cell().state() == circuit_state::open) {
          ++opened;
          c.reset(self);
        }
        resetting = false;
      } else {
        std::this_thread::yield();
      }
    }
  };
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < callers; ++i)
      threads.emplace_back(caller);
  }
  CHECK(too_late == 0);
  CHECK(admitted >= rounds * threshold); // each opening took its five
  caf::scoped_actor self{c.system};
  CHECK(c.figures(self).trips >= rounds);
}

// Fewer rounds than above: each takes a cooldown of real time and a thousand messages. 64 threads ask 1,000 times
// in all, none waiting for its answer before it asks again, so that all are there at once.
TEST_CASE("strict counting under load: after each cooldown exactly one of a thousand callers probes [C7]") {
  constexpr int rounds = 200, asked = 1'000;
  circuit_settings s;
  s.consecutive_failures = threshold;
  s.cooldown = s.max_cooldown = 1ms;
  s.probe_lease = 1h;
  live_circuit c{s};
  caf::scoped_actor main_self{c.system};

  std::atomic<int> probes{0}, admitted{0}, answers{0};
  std::mutex mutex;
  std::optional<admission_verdict> probe;
  int wrong_rounds = 0, round_number = 0;
  const auto open_half = [&] {
    // After a probe's failure it is open, or half-open already: to ask then would take the round's probe.
    if (c.handle->cell().state() == circuit_state::closed) {
      const auto permit = c.admit(main_self);
      for (std::uint32_t i = 0; i < threshold; ++i)
        c.report(permit, outcome::failure);
    }
    while (c.handle->cell().state() != circuit_state::half_open) // by its own timer
      std::this_thread::yield();
  };
  in_rounds(
      c.system, rounds,
      [&](caf::scoped_actor& self, int caller) {
        using request = decltype(self->request(c.handle->breaker(), caf::infinite, probe_request{}));
        std::vector<request> requests;
        const int mine = asked / callers + (caller < asked % callers);
        for (int i = 0; i < mine; ++i)
          requests.push_back(self->request(c.handle->breaker(), caf::infinite, probe_request{}));
        for (auto& r : requests)
          r.receive(
              [&](const admission_verdict& v) {
                ++answers;
                admitted += v.what == admission_verdict::kind::admitted;
                if (v.what != admission_verdict::kind::probe)
                  return;
                ++probes;
                const std::lock_guard lock{mutex};
                probe = v;
              },
              [](const caf::error&) {});
      },
      [&] {
        if (round_number++ > 0) {
          wrong_rounds += probes != 1 || admitted != 0 || answers != asked;
          // In turns the probe fails and succeeds, so that both ways lead to the next cooldown.
          if (probe)
            c.report(*probe, round_number % 2 == 0 ? outcome::failure : outcome::success);
          c.figures(main_self); // counted
        }
        probes = admitted = answers = 0;
        probe.reset();
        open_half();
      });
  CHECK(wrong_rounds == 0);
  CHECK(probes == 1);
}
