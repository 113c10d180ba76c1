// SPDX-License-Identifier: Apache-2.0
//
// A program of Google Benchmark as users have them: its results are imported by imports_test.py.
#include <benchmark/benchmark.h>

#include <numeric>
#include <vector>

namespace {

void sum(benchmark::State& state) {
  const std::vector<int> numbers(static_cast<std::size_t>(state.range(0)), 1);
  for (auto step : state) {
    benchmark::DoNotOptimize(std::accumulate(numbers.begin(), numbers.end(), 0));
  }
  state.SetComplexityN(state.range(0));
}
BENCHMARK(sum)->Arg(1000)->Arg(4000)->Unit(benchmark::kMicrosecond)->Complexity();

void broken(benchmark::State& state) {
  state.SkipWithError("no \"device\"");
}
BENCHMARK(broken);

}  // namespace

BENCHMARK_MAIN();
