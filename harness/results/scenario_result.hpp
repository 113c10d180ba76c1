// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/timestamp.hpp"
#include "harness/base/units.hpp"
#include "harness/loadgen/batching.hpp"
#include "harness/loadgen/budgeted_load.hpp"
#include "harness/loadgen/load_result.hpp"
#include "harness/loadgen/load_settings.hpp"
#include "harness/measure/disturbance.hpp"
#include "harness/results/measurement.hpp"

namespace plumb::results {

/// Result of loading one whole model by one scenario, in one worker process. A sample is one input
/// of the model at the suite's batch.
struct ScenarioResult {
  /// Metric that a scenario is scored by.
  struct Score {
    std::string_view
        name;  ///< "latency" (at the percentile), "queries_per_second", "samples_per_second"
    std::string_view unit;        ///< "seconds", or "per_second"
    std::optional<double> value;  ///< of an invalid load too; absent: it has none
  };

  /// Verdicts on a load.
  enum class Verdict {
    kValid,
    kFailed,        ///< the latency limit is not kept, or samples were dropped, failed, miscounted
    kInconclusive,  ///< too short, too few queries, or no time left to confirm a rate
    kNotExecuted,   ///< the outcome says why
  };

  /// Summary of a peak search.
  struct Peak {
    /// Summary of one probe, with its verdict.
    struct Probe {
      loadgen::BudgetedLoad::Probe::Purpose purpose = loadgen::BudgetedLoad::Probe::Purpose::kProbe;
      double rate = 0.0;  ///< queries a second
      bool valid = false;
      std::uint64_t queries = 0;
      std::chrono::nanoseconds percentile_latency{};
      std::string reason;  ///< the first shortfall; empty: valid
    };

    std::optional<double> rate;  ///< queries a second, confirmed; the score
    double highest_passed = 0.0;
    std::optional<double> lowest_failed;
    std::string reason;  ///< why there is no rate, or why the search was not precise; else empty
    std::vector<Probe> probes;
  };

  /// Difference between answers under load and the model's answers to the same samples alone.
  struct Agreement {
    std::uint64_t samples = 0;        ///< compared
    double maximum_difference = 0.0;  ///< relative to the largest magnitude of the sample's answer
  };

  std::string mode;   ///< how the model was executed: "plain"
  std::string model;  ///< its name
  loadgen::ScenarioName scenario = loadgen::ScenarioName::kSingleStream;  ///< as the suite says
  Outcome outcome;                   ///< not ok: why there is no result
  loadgen::RequestedLoad requested;  ///< as the worker ran it: what it chose itself is filled in
  std::optional<loadgen::LoadResult> result;    ///< of server without a rate: the last run of the
                                                ///< search
  std::optional<Peak> peak;                     ///< of server without a rate
  std::optional<Agreement> agreement;           ///< before the load; absent: not compared
  std::optional<loadgen::LoadResult> accuracy;  ///< of the whole data set behind the load, if asked
                                                ///< for
  loadgen::DynamicBatcher::Policy batches;
  bool direct = false;  ///< executed by the issuing thread: no queue, no time-out
  std::vector<loadgen::BatchExecutor::BucketUse> buckets;
  std::int64_t inputs_per_sample = 1;  ///< the suite's batch
  Bytes memory;                        ///< of all plans of all lanes, weights included
  std::int64_t reorders = 0;           ///< changes of layout in each execution of the first bucket
  Seconds floor{};                     ///< of the harness, a call; not subtracted
  Seconds preparation{};               ///< reading, planning, filling; before the load
  measure::Disturbance disturbance;    ///< of the whole load, warm-up and probes included
  Timestamp started{};
  Seconds wall{};
  std::int64_t process = 0;  ///< which worker process of the run
};

[[nodiscard]] ScenarioResult::Peak summarize(const loadgen::BudgetedLoad::Peak& peak);
[[nodiscard]] std::string_view to_text(ScenarioResult::Verdict verdict);  ///< "valid", "failed", …
[[nodiscard]] ScenarioResult::Verdict judge_load(const ScenarioResult& load);

/// Returns the reasons why a load is not valid, one sentence each. Empty: it is valid.
[[nodiscard]] std::vector<std::string> list_reasons(const ScenarioResult& load);
/// Returns the score of a load by its scenario. Absent: the load was not executed.
/// - single_stream and multi_stream: the estimate of the percentile
/// - server: the rate at which the latency limit was kept
/// - offline: the samples a second
[[nodiscard]] std::optional<ScenarioResult::Score> compute_score(const ScenarioResult& load);

/// Returns a percentile of the queries' latencies, of those that a summary has. Absent: there is
/// none.
[[nodiscard]] std::optional<Seconds> latency_at(const ScenarioResult& load, double percent);

/// Writes a load as JSON for the store. Seeds are texts, because they need 64 bits.
[[nodiscard]] std::string to_json(const ScenarioResult& load);
/// Reads what to_json wrote. Throws Error{kUser} that names the field at fault.
[[nodiscard]] ScenarioResult scenario_result_from_json(std::string_view json);

}  // namespace plumb::results
