// Guarding a call: permit and report around nothing, metrics on. One circuit is shared by all threads.
//
// `streak` and `count_window` read no clock; `timed` has a slow-call rule, so it reads the clock twice and its duration
// is observed by the metrics. A refusal reads the clock once for its wait and once for its event.

#include "switchyard/runtime/runtime.hpp"

#include <benchmark/benchmark.h>

#include <memory>
#include <string>

namespace {

using namespace switchyard;

runtime& shared_runtime() {
  static runtime instance = [] {
    config c;
    auto& window = c.circuits["window"];
    window.window.emplace();
    window.window->size = 100;
    window.window->minimum_calls = 10;
    window.window->failure_rate = 0.5;
    auto& timed = c.circuits["timed"];
    timed = window;
    timed.window->slow_call_rate = 0.5;
    auto& open = c.circuits["open"];
    open.consecutive_failures = 1;
    open.cooldown = open.max_cooldown = 1h;
    core_options options;
    options.in_memory = true;
    options.io_threads = 1;
    return runtime::start(std::move(c), std::move(options)).value();
  }();
  return instance;
}

void call(benchmark::State& state, const std::string& profile) {
  const auto guard = shared_runtime().circuit(profile, profile);
  std::int64_t refused = 0;
  for (auto _ : state) {
    if (auto permit = guard.try_acquire())
      permit->success();
    else
      ++refused;
  }
  if (refused != 0)
    state.SkipWithError("the circuit refused calls");
}
BENCHMARK_CAPTURE(call, streak, std::string{"default"})->Threads(1)->Threads(2)->Threads(8)->UseRealTime();
BENCHMARK_CAPTURE(call, count_window, std::string{"window"})->Threads(1)->Threads(2)->Threads(8)->UseRealTime();
BENCHMARK_CAPTURE(call, timed, std::string{"timed"})->Threads(1)->Threads(2)->Threads(8)->UseRealTime();

void refusal(benchmark::State& state) {
  const auto guard = shared_runtime().circuit("open", "open");
  if (auto permit = guard.try_acquire())
    permit->failure();
  std::int64_t admitted = 0;
  for (auto _ : state)
    if (guard.try_acquire())
      ++admitted;
  if (admitted != 0)
    state.SkipWithError("the circuit admitted calls");
}
BENCHMARK(refusal)->Threads(1)->Threads(2)->Threads(8)->UseRealTime();

} // namespace
