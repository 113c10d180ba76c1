// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/bench/benchmark_block.hpp"

#include <benchmark/benchmark.h>

#include <exception>
#include <vector>

#include "harness/base/error.hpp"

namespace plumb {
namespace {

/// Reporter that only counts the library's reports, because Plumbline reports by its rows.
class Collector final : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context& /*context*/) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override { reported_ += runs.size(); }
  [[nodiscard]] std::size_t reported() const { return reported_; }

 private:
  std::size_t reported_ = 0;
};

}  // namespace

std::optional<Samples> run_as_benchmark(const std::string& name,
                                        const std::string& filter,
                                        const std::function<Samples()>& block) {
  std::optional<Samples> result;
  std::exception_ptr failure;
  const auto run = [&](benchmark::State& state) {
    for ([[maybe_unused]] const auto iteration : state) {
      // The library does not expect exceptions: carry them around it.
      try {
        result = block();
        state.SetIterationTime(result->elapsed.count());
      } catch (...) {
        failure = std::current_exception();
        state.SkipWithError("threw");
        break;
      }
    }
  };
  benchmark::ClearRegisteredBenchmarks();
  benchmark::RegisterBenchmark(name.c_str(), run)->UseManualTime()->Iterations(1);
  Collector collector;
  const std::size_t ran =
      benchmark::RunSpecifiedBenchmarks(&collector, nullptr, filter.empty() ? "all" : filter);
  benchmark::ClearRegisteredBenchmarks();
  if (failure) {
    std::rethrow_exception(failure);
  }
  PLUMB_CHECK(ran == 0 || (result && collector.reported() == 1));
  return result;
}

}  // namespace plumb
