#include "driven_circuit.hpp"

#include "switchyard/engine/circuit_cell.hpp"

#include "support/catch.hpp"
#include "support/rendezvous.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <future>
#include <mutex>
#include <thread>

using namespace switchyard;
using namespace switchyard::test;

// Many reporters and one breaker on a thread of its own, with a mailbox, as the breaker actor will have. Time stands
// still. What is checked holds in every interleaving; the threads only make many of them happen.

namespace {

class breaker_thread {
public:
  explicit breaker_thread(const circuit_settings& s, std::uint32_t capacity = 64)
      : cell({"p", "", ""}, s.window.has_value(), capacity), it_(s) {
    cell.publish(it_, start);
    thread_ = std::thread([this] { run(); });
  }

  ~breaker_thread() {
    send({message::kind::stop, {}, {}});
    thread_.join();
  }

  // ---- callers

  /// The generation of the permit, or nothing when refused.
  std::optional<std::uint32_t> acquire() {
    const auto fast = cell.try_admit(start);
    if (fast.what == fast_admission::kind::admitted)
      return fast.generation;
    if (fast.what == fast_admission::kind::refused)
      return std::nullopt;
    std::promise<admission_verdict> promise;
    auto answer = promise.get_future();
    send({message::kind::ask, {}, &promise});
    const auto verdict = answer.get();
    if (verdict.what == admission_verdict::kind::refused)
      return std::nullopt;
    return verdict.generation;
  }

  void report(std::uint32_t generation, outcome what) {
    outcome_report r;
    r.generation = generation;
    r.what = what;
    r.at = start;
    const auto receipt = cell.report(r);
    if (!receipt.queued)
      send({message::kind::report, r, {}});
    else if (receipt.wake)
      send({message::kind::wake, {}, {}});
  }

  // ---- the test, while no caller is running

  /// Waits until the breaker has done all it was told to do; it is told nothing more.
  circuit_snapshot settle() {
    std::unique_lock lock(mutex_);
    at_rest_.wait(lock, [this] { return mailbox_.empty() && resting_; });
    return it_.snapshot(start);
  }

  void reset() {
    send({message::kind::reset, {}, {}});
    settle();
  }

  /// What the breaker's timer does at its end.
  void fire_timer() {
    cell.set_lazy(false);
    send({message::kind::wake, {}, {}});
  }

  circuit_cell cell;

private:
  struct message {
    enum class kind { wake, report, ask, reset, stop } what;
    outcome_report report;
    std::promise<admission_verdict>* answer;
  };

  void send(message m) {
    const std::lock_guard lock(mutex_);
    mailbox_.push_back(m);
    work_.notify_one();
  }

  message receive() {
    std::unique_lock lock(mutex_);
    resting_ = true;
    if (mailbox_.empty())
      at_rest_.notify_all();
    work_.wait(lock, [this] { return !mailbox_.empty(); });
    resting_ = false;
    const auto m = mailbox_.front();
    mailbox_.pop_front();
    return m;
  }

  void drain() {
    do {
      cell.begin_drain();
      while (const auto r = cell.pop(start))
        it_.report(*r, start);
      cell.publish(it_, start);
    } while (cell.unfinished());
  }

  void run() {
    for (;;) {
      const auto m = receive();
      drain();
      switch (m.what) {
      case message::kind::wake:
        break;
      case message::kind::report:
        it_.report(m.report, start);
        cell.overflow_counted(m.report.ticket);
        cell.publish(it_, start);
        break;
      case message::kind::ask: {
        const auto verdict = it_.ask(start);
        cell.publish(it_, start);
        m.answer->set_value(verdict);
        break;
      }
      case message::kind::reset:
        it_.reset(start);
        cell.publish(it_, start);
        break;
      case message::kind::stop:
        return;
      }
    }
  }

  circuit it_;
  std::mutex mutex_;
  std::condition_variable work_, at_rest_;
  std::deque<message> mailbox_;
  bool resting_ = false; ///< waiting for a message
  std::thread thread_;
};

template <class Work>
void on_threads(int count, Work work) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i)
    threads.emplace_back([&work, i] { work(i); });
  for (auto& t : threads)
    t.join();
}

} // namespace

TEST_CASE("no call begun after the N-th failure was answered reaches the provider, on 64 threads [C4]") {
  constexpr int callers = 64, rounds = 300, calls_each = 5;
  constexpr std::uint32_t threshold = 5;
  breaker_thread breaker(streak_profile(threshold));
  std::atomic<std::uint32_t> answered{0};
  std::atomic<int> too_late{0}, reached{0}, rounds_without_trip{0};
  std::uint64_t round = 0;
  rendezvous round_over(callers, [&] {
    const auto shown = breaker.settle();
    if (shown.state != circuit_state::open || shown.trips != ++round || reached < static_cast<int>(threshold))
      ++rounds_without_trip;
    breaker.reset();
    answered = 0;
    reached = 0;
  });
  on_threads(callers, [&](int) {
    for (int r = 0; r < rounds; ++r) {
      for (int i = 0; i < calls_each; ++i) {
        const bool tripped_before = answered.load() >= threshold;
        const auto permit = breaker.acquire();
        if (!permit)
          continue;
        ++reached;
        if (tripped_before)
          ++too_late;
        breaker.report(*permit, outcome::failure);
        ++answered;
      }
      round_over.arrive_and_wait();
    }
  });
  CHECK(too_late == 0);
  CHECK(rounds_without_trip == 0);
}

TEST_CASE("the count is exact whatever the concurrency: one failure short of the threshold stays closed [C4]") {
  constexpr int reporters = 8, each = 2'000;
  breaker_thread breaker(streak_profile(reporters * each + 1), GENERATE(4u, 64u));
  const auto generation = breaker.cell.generation();
  on_threads(reporters, [&](int) {
    for (int i = 0; i < each; ++i)
      breaker.report(generation, outcome::failure);
  });
  CHECK(breaker.settle().consecutive_failures == reporters * each);
  CHECK(breaker.settle().state == circuit_state::closed);
  breaker.report(generation, outcome::failure);
  CHECK(breaker.settle().state == circuit_state::open);
}

TEST_CASE("no report is lost, whatever fills the queue [C2][C4]") {
  constexpr int reporters = 4, each = 10'000;
  const bool lazy = GENERATE(false, true);
  const auto capacity = GENERATE(2u, 64u);
  window_settings w;
  w.size = 100'000;
  breaker_thread breaker(window_profile(w), capacity);
  breaker.cell.set_lazy(lazy);
  const auto generation = breaker.cell.generation();
  on_threads(reporters, [&](int) {
    for (int i = 0; i < each; ++i)
      breaker.report(generation, i % 10 == 3   ? outcome::failure
                                 : i % 10 == 7 ? outcome::slow_success
                                               : outcome::success);
  });
  if (lazy)
    breaker.fire_timer();
  const auto shown = breaker.settle(); // without another word to the breaker
  CHECK(shown.window_calls == static_cast<std::uint32_t>(reporters * each));
  CHECK(shown.failure_rate == 0.1);
  CHECK(shown.slow_call_rate == 0.1);
}

TEST_CASE("a success ends the streak of the failures handed in before it, drained or not [C1][C4]") {
  const auto capacity = GENERATE(2u, 64u);
  breaker_thread breaker(streak_profile(3), capacity);
  const auto generation = breaker.cell.generation();
  for (int i = 0; i < 20'000; ++i) { // never three in a row
    breaker.report(generation, outcome::failure);
    breaker.report(generation, outcome::failure);
    breaker.report(generation, outcome::success);
  }
  CHECK(breaker.settle().state == circuit_state::closed);
  for (int i = 0; i < 3; ++i)
    breaker.report(generation, outcome::failure);
  CHECK(breaker.settle().state == circuit_state::open);
}

TEST_CASE("simultaneous callers of a half-open circuit get exactly one probe [C7]") {
  constexpr int callers = 32;
  auto s = streak_profile(1);
  s.cooldown = 1ns;
  s.max_cooldown = 1ns;
  circuit_cell cell({"p", "", ""}, false);
  circuit it(s);
  outcome_report r;
  r.generation = it.generation();
  r.what = outcome::failure;
  r.at = start;
  it.report(r, start);
  const auto due = start + 1ns;
  cell.publish(it, start);
  std::mutex breaker; // stands in for the mailbox: one asker at a time
  std::atomic<int> probes{0};
  on_threads(callers, [&](int) {
    for (int i = 0; i < 1'000; ++i) {
      if (cell.try_admit(due).what != fast_admission::kind::ask)
        continue;
      const std::lock_guard lock(breaker);
      if (it.ask(due).what == admission_verdict::kind::probe)
        ++probes;
      cell.publish(it, due);
    }
  });
  CHECK(probes == 1);
}
