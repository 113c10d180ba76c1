// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/suite/suite.hpp"

namespace CLI {
class App;
}

namespace plumb::session {
struct SuiteRunOptions;
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
};

/// Adds the options of `run` that concern scenarios. Those of MLPerf's logs go to the run.
void add_load_options(CLI::App& run, LoadOptions& options, session::SuiteRunOptions& suite_run);

/// Applies the options to a suite. `--scenario` replaces the scenarios of every model, and the
/// others change how they are executed. Throws Error{kUser} for an option, also of the run, without
/// a scenario that it applies to.
void apply(const LoadOptions& options,
           const session::SuiteRunOptions& suite_run,
           suite::ResolvedSuite& suite);

}  // namespace plumb::cli
