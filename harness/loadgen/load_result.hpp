// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/loadgen/completion_recorder.hpp"
#include "harness/loadgen/load_settings.hpp"

namespace plumb::loadgen {

/// Result of a load. An invalid result is data too: it has its numbers, and the reasons not to use
/// them.
struct LoadResult {
  /// Summary of latencies. Percentiles follow MLPerf's rank, within 0.1%
  /// (CompletionRecorder::Histogram).
  struct LatencySummary {
    using Nanoseconds = std::chrono::nanoseconds;
    static constexpr std::array<double, 6> kPercentiles{50.0, 90.0, 95.0, 97.0, 99.0, 99.9};

    std::uint64_t count = 0;
    Nanoseconds min{};
    Nanoseconds mean{};
    Nanoseconds max{};
    std::array<Nanoseconds, 6> percentiles{};  ///< of kPercentiles
    /// The 95 % interval of the median, as in SampleSummary. It assumes independent latencies.
    Nanoseconds median_low{};
    Nanoseconds median_high{};
  };

  /// Result of MLPerf's early stopping: the bound that the number of queries proves.
  struct EarlyStopping {
    bool met = false;
    std::uint64_t queries = 0;
    std::uint64_t needed = 0;   ///< server: for so many over the limit; else for any estimate
    std::uint64_t over = 0;     ///< server: queries over the limit, those never answered included
    std::uint64_t dropped = 0;  ///< else: the largest latencies left out of the estimate
    std::optional<std::chrono::nanoseconds>
        estimate_99;  ///< single_stream: of 99 %, from which MLPerf infers multi_stream
    std::optional<std::chrono::nanoseconds>
        estimate;  ///< single and multi_stream: of the percentile
  };

  /// Condition of a valid result that does not hold, and by how much it is missed.
  struct Shortfall {
    enum class Kind {
      kDuration,    ///< seconds
      kCount,       ///< queries; offline: samples
      kLatency,     ///< seconds, at the percentile
      kConfidence,  ///< queries
      kDropped,     ///< samples never answered
      kFailed,      ///< samples answered with a failure
      kMiscounted,  ///< answers to samples that were not outstanding
    };
    Kind kind = Kind::kDuration;
    double required = 0.0;
    double actual = 0.0;
    std::string text;  ///< the same as a sentence
  };

  /// Counts and times of a run on the issuing side.
  struct IssueTally {
    std::chrono::nanoseconds start{};
    std::chrono::nanoseconds last_issue{};  ///< after the start
    std::uint64_t queries = 0;
    std::uint64_t samples = 0;
    bool out_of_budget = false;
    bool stopped_as_lost = false;
    CompletionRecorder::Histogram lateness;
  };

  using Nanoseconds = std::chrono::nanoseconds;

  EffectiveLoad load;
  std::string system;  ///< as it describes itself
  std::uint64_t queries_issued = 0;
  std::uint64_t queries_completed = 0;
  std::uint64_t samples_issued = 0;
  std::uint64_t samples_completed = 0;
  std::uint64_t samples_failed = 0;
  std::uint64_t samples_dropped = 0;  ///< issued, but never answered
  std::uint64_t unknown_answers = 0;
  std::uint64_t over_latency = 0;  ///< answered queries above the latency limit, exact
  std::string first_failure;
  bool out_of_budget = false;    ///< the maximum duration ended it
  bool stopped_as_lost = false;  ///< over_latency_at_most ended it

  Nanoseconds begin{};  ///< of the run, on the load's clock; in a ScenarioResult, after `started`
  Nanoseconds last_issue{};  ///< server: when it was due; from the run's start, as all times below
  Nanoseconds last_completion{};
  LatencySummary sample_latency;
  LatencySummary query_latency;                 ///< of a query's last sample
  Nanoseconds percentile_latency{};             ///< of queries, at the load's percentile
  std::optional<EarlyStopping> early_stopping;  ///< absent for offline and in accuracy mode
  std::optional<LatencySummary> lateness;       ///< server: of issuing, behind the schedule

  /// Rate by MLPerf's rules. N is the number of completed queries.
  /// - single_stream and multi_stream: (N - 1) ÷ issue time of the last query
  /// - server: (N - 1) ÷ completion time of the query issued last
  /// - offline, or one query: N ÷ last completion
  double queries_per_second = 0.0;
  double samples_per_second = 0.0;
  double scheduled_per_second = 0.0;  ///< server: rate of the schedule

  std::vector<Shortfall> shortfalls;  ///< empty: valid
  [[nodiscard]] bool valid() const { return shortfalls.empty(); }
};

[[nodiscard]] LoadResult::LatencySummary summarize(const CompletionRecorder::Histogram& latencies);

[[nodiscard]] std::string_view to_text(
    LoadResult::Shortfall::Kind kind);  ///< "duration", "count", …

/// Makes a result of both sides' tallies, and judges it. Pure.
[[nodiscard]] LoadResult make_load_result(const EffectiveLoad& load,
                                          const LoadResult::IssueTally& issued,
                                          const CompletionRecorder::Tally& completed);

/// Returns the conditions that a result does not meet. They are those of MLPerf Inference (rules,
/// "Scenarios"), and that each sample is answered once.
[[nodiscard]] std::vector<LoadResult::Shortfall> find_shortfalls(const LoadResult& result);

}  // namespace plumb::loadgen
