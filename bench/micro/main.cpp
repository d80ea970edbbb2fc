// Microbenchmarks. What they measure is a ratio to the yardsticks of the same run: two uncontended mutex pairs, an
// atomic load, a clock read, one message to an actor. docs say which goals the ratios have; run interleaved and
// repeated:
//
//   switchyard-bench-micro --benchmark_enable_random_interleaving=true --benchmark_repetitions=5
//                          --benchmark_report_aggregates_only=true

#include <benchmark/benchmark.h>

BENCHMARK_MAIN();
