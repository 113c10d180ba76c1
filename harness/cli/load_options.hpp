// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/suite/suite.hpp"

namespace CLI {
class App;
}

namespace plumb::cli {

/// Options of the command line for scenarios.
struct LoadOptions {
  std::vector<std::string> scenarios;
  std::string duration;
  std::string latency_limit;
  std::string batch_timeout;
  std::optional<double> target_rate;
  std::optional<std::int64_t> maximum_batch;
  std::optional<std::int64_t> lanes;
  std::optional<std::uint64_t> performance_sample_count;  ///< of the data set; absent: MLPerf's
  std::filesystem::path mlperf_logs;        ///< where MLPerf's logs go; empty: nowhere
  std::filesystem::path mlperf_submission;  ///< where a submission to MLPerf goes; empty: nowhere
  std::string mlperf_submitter;             ///< whose submission it is
  bool accuracy = false;  ///< ask every sample of the data set once, too, and log the answers
};

/// Adds the options of `run` that concern scenarios.
void add_load_options(CLI::App& run, LoadOptions& options);

/// Applies the options to a suite. `--scenario` replaces the scenarios of every model, and the
/// others change how they are executed. Throws Error{kUser} for an option without a scenario that
/// it applies to.
void apply(const LoadOptions& options, suite::ResolvedSuite& suite);

}  // namespace plumb::cli
