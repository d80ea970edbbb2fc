// What the machine can do: the figures to divide by.

#include <benchmark/benchmark.h>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>

#include <atomic>
#include <chrono>
#include <mutex>

namespace {

// A mutex of each thread's own, locked and unlocked twice: what a lock-based permit and report cost at the least.
void two_mutex_pairs(benchmark::State& state) {
  std::mutex mutex;
  int guarded = 0;
  for (auto _ : state) {
    {
      std::lock_guard lock{mutex};
      benchmark::DoNotOptimize(++guarded);
    }
    {
      std::lock_guard lock{mutex};
      benchmark::DoNotOptimize(++guarded);
    }
  }
}
BENCHMARK(two_mutex_pairs)->Threads(1)->Threads(2)->Threads(8)->UseRealTime();

void atomic_load(benchmark::State& state) {
  static std::atomic<int> shared{1};
  for (auto _ : state)
    benchmark::DoNotOptimize(shared.load(std::memory_order_acquire));
}
BENCHMARK(atomic_load)->Threads(1)->Threads(2)->Threads(8)->UseRealTime();

void clock_read(benchmark::State& state) {
  for (auto _ : state)
    benchmark::DoNotOptimize(std::chrono::steady_clock::now());
}
BENCHMARK(clock_read);

// One-way messages from a plain thread, all of them processed within the time.
void caf_one_way_send(benchmark::State& state) {
  caf::actor_system_config config;
  caf::actor_system system{config};
  std::atomic<std::int64_t> processed{0};
  const auto actor = system.spawn([&](caf::event_based_actor*) {
    return caf::behavior{[&](int) { processed.fetch_add(1, std::memory_order_release); }};
  });
  std::int64_t sent = 0;
  for (auto _ : state) {
    caf::anon_send(actor, 1);
    if (++sent % 1024 == 0) // a mailbox has no limit: wait for what was sent
      while (processed.load(std::memory_order_acquire) + 1024 < sent) {
      }
  }
  while (processed.load(std::memory_order_acquire) < sent) {
  }
  caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
}
BENCHMARK(caf_one_way_send)->UseRealTime();

} // namespace
