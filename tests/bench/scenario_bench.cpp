// SPDX-License-Identifier: Apache-2.0
//
// What the load generator itself costs, with systems that do nothing. Limits: 150 ns from one
// SingleStream query to the next, completion included; 2 million Server completions/s from one
// issuing thread; at 10,000 queries/s, Server's median query is issued at most 5 µs late; ten times
// the queries take no more memory (1 MiB). Medians of 11 runs. Prints all; exits 1 if one is
// missed. Wants a quiet machine.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <vector>

#include "harness/loadgen/load_generator.hpp"

namespace plumb::loadgen {
namespace {

constexpr std::size_t kRuns = 11;

/// Answers inside issue(), all samples in one call or one by one.
class EmptySystem final : public SystemUnderTest {
 public:
  explicit EmptySystem(bool one_by_one) : one_by_one_(one_by_one) {}
  [[nodiscard]] std::string describe() const override { return "empty"; }
  void start(std::shared_ptr<Completions> completions) override {
    answers_ = std::move(completions);
  }
  void issue(std::span<const SystemUnderTest::Sample> samples) override {
    responses_.clear();
    for (const SystemUnderTest::Sample& sample : samples) {
      responses_.push_back({sample.id, {}});
    }
    const std::span<const Completions::Response> all(responses_);
    const std::size_t step = one_by_one_ ? 1 : all.size();
    for (std::size_t i = 0; i < all.size(); i += step) {
      answers_->complete(all.subspan(i, step));
    }
  }
  void flush() override {}

 private:
  bool one_by_one_;
  std::vector<Completions::Response> responses_;
  std::shared_ptr<Completions> answers_;
};

double median_of_runs(const std::function<double()>& run) {
  std::array<double, kRuns> values{};
  std::generate(values.begin(), values.end(), run);
  std::sort(values.begin(), values.end());
  return values[kRuns / 2];
}

LoadResult load_empty(const RequestedLoad& asked, bool one_by_one = false) {
  const auto clock = make_steady_load_clock();
  EmptySystem system(one_by_one);
  return run_load(resolve_load(asked), system, *clock);
}

RequestedLoad load_of(RequestedLoad::Scenario scenario, std::uint64_t queries, double rate = 0.0) {
  RequestedLoad load;
  load.scenario = scenario;
  load.minimum_duration = Seconds(0.0);
  if (scenario == RequestedLoad::Scenario::kOffline) {
    load.samples_per_query = queries;
  } else {
    load.minimum_queries = queries;
  }
  if (scenario == RequestedLoad::Scenario::kServer) {
    load.target_rate = rate;
    load.latency_limit = Seconds(0.010);
  }
  load.total_samples = 1024;
  return load;
}

double peak_mebibytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;
}

bool print_row(const char* name, double value, const char* unit, double limit, bool at_most) {
  const bool kept = at_most ? value <= limit : value >= limit;
  fmt::print("{:52} {:10.4g} {:12} limit {} {:g}{}\n",
             name,
             value,
             unit,
             at_most ? "<=" : ">=",
             limit,
             kept ? "" : "  MISSED");
  return kept;
}

int print_figures() {
  bool kept = true;
  static_cast<void>(load_empty(load_of(RequestedLoad::Scenario::kSingleStream, 1'000'000)));
  const double memory = peak_mebibytes();
  kept &= print_row("single_stream: a query, answered at once",
                    median_of_runs([] {
                      const auto result =
                          load_empty(load_of(RequestedLoad::Scenario::kSingleStream, 1'000'000));
                      return 1e9 / result.queries_per_second;
                    }),
                    "ns",
                    150.0,
                    true);
  static_cast<void>(load_empty(load_of(RequestedLoad::Scenario::kSingleStream, 10'000'000)));
  kept &= print_row("memory: more for 10 million than for 1 million",
                    peak_mebibytes() - memory,
                    "MiB",
                    1.0,
                    true);
  kept &= print_row("server: answered at once, as fast as it goes",
                    median_of_runs([] {
                      return load_empty(load_of(RequestedLoad::Scenario::kServer, 1'000'000, 1e9))
                          .samples_per_second;
                    }),
                    "queries/s",
                    2e6,
                    false);
  kept &= print_row("server: median lateness at 10,000 queries/s",
                    median_of_runs([] {
                      const auto result =
                          load_empty(load_of(RequestedLoad::Scenario::kServer, 5'000, 1e4));
                      return static_cast<double>(result.lateness->percentiles[0].count()) * 1e-3;
                    }),
                    "us",
                    5.0,
                    true);
  for (const bool one_by_one : {false, true}) {
    const double rate = median_of_runs([one_by_one] {
      return load_empty(load_of(RequestedLoad::Scenario::kOffline, 1'000'000), one_by_one)
          .samples_per_second;
    });
    fmt::print("{:52} {:10.4g} samples/s\n",
               one_by_one ? "offline: one sample an answer" : "offline: all samples in one answer",
               rate);
  }
  return kept ? 0 : 1;
}

}  // namespace
}  // namespace plumb::loadgen

int main() {
  return plumb::loadgen::print_figures();
}
