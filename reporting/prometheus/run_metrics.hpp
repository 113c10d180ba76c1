// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "harness/analysis/compare/process_deviation.hpp"
#include "reporting/content/run/report.hpp"

namespace plumb::reporting {

inline constexpr std::size_t kMaxBenchmarkTimes = 1000;  ///< of a run, as metrics

/// Part of an analysed run from which metrics are made: a few kilobytes for each model. `models`,
/// `whatifs` and `times` are parallel.
struct RunMetrics {
  /// Breakdown of one model's time.
  struct ModelTimes {
    struct Operator {
      std::string mode;  ///< "plain", "fusion"
      std::string name;  ///< as in ONNX; of a fused step, its first layer's
      Seconds seconds{};
    };
    std::vector<Operator> operators;  ///< sums of hot times of the fastest variants
    struct Layer {
      std::string name;
      std::string op;
      std::string variant;
      Seconds seconds{};
    };
    std::vector<Layer> slowest;  ///< slowest first; hot, fastest variant
  };

  /// Time of one benchmark of another harness.
  struct Benchmark {
    std::string name;
    measure::SampleSummary time;  ///< over the processes that measured it
  };

  results::RunRecord run;  ///< without its resolved suite
  analysis::ProcessDeviation deviation;
  std::vector<analysis::ModelBounds> models;    ///< without partitions, paths, findings and input
                                                ///< rows
  std::vector<analysis::ModelWhatIfs> whatifs;  ///< without their layers
  std::vector<ModelTimes> times;
  std::vector<Benchmark> benchmarks;  ///< of an imported run, by name; the first ones
  std::size_t benchmarks_timed = 0;
  std::size_t benchmarks_failed = 0;
  std::map<results::Outcome::Kind, std::int64_t> rows;  ///< own rows by outcome, but for excluded
                                                        ///< keys
  std::vector<results::Exclusion> exclusions;           ///< that hold: their rows are not counted
  std::int64_t reused = 0;
  std::int64_t timed = 0;      ///< own rows with a time
  std::int64_t disturbed = 0;  ///< of those
  results::Readings readings;  ///< of the device, over the own timed rows and the executions
};

/// Reduces a report; keeps the `slowest` slowest layers of each model. Pure.
[[nodiscard]] RunMetrics run_metrics(analysis::RunReport report, std::size_t slowest);

}  // namespace plumb::reporting
