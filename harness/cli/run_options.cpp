// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/run_options.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "harness/base/error.hpp"

namespace plumb {
namespace {

/// Returns the layers that are chosen. Throws Error{kUser} where others than layers are measured.
LayerSelection selection_of(const RunOptions& options) {
  LayerSelection selection{.wanted = options.layers, .excluded = options.excluded};
  if (!selection.empty() && (options.only == "models" || !options.loads.scenarios.empty())) {
    throw Error(Error::Kind::kUser,
                fmt::format("'--{}' chooses layers, and '--{}' executes whole models: leave one "
                            "of them out",
                            selection.wanted.empty() ? "exclude" : "layer",
                            options.only == "models" ? "only models" : "scenario"));
  }
  return selection;
}

}  // namespace

bool RunOptions::is_of_layers() const {
  return only == "layers" || !layers.empty() || !excluded.empty();
}

ResolvedSuite requested_suite(const ModelSource& models, const RunOptions& options) {
  ResolvedSuite suite = chosen_suite(models, options.choice);
  suite.selection = selection_of(options);
  if (!options.reuse.empty()) {
    suite.reuse = parse_reuse(options.reuse);
  }
  if (!options.budget.empty()) {
    suite.budget = parse_duration(options.budget);
  }
  if (!options.cache.empty()) {
    const std::optional<CacheMode> cache = parse_cache_mode(options.cache);
    if (!cache) {
      throw Error(Error::Kind::kUser,
                  fmt::format("'--cache {}' is none of none, weights, all", options.cache));
    }
    suite.caches = {*cache};
  }
  apply(options.loads, suite);
  return suite;
}

SuiteRunOptions suite_run_options(const RunOptions& options, const std::string& stack) {
  SuiteRunOptions run;
  run.stack = stack;
  run.command = {"plumb", "run", options.choice.suite};
  run.shard = options.shard;
  run.layers = options.only != "models";
  // If scenarios were asked for, models are not executed by themselves.
  run.models = !options.is_of_layers() && options.loads.scenarios.empty();
  run.loads = !options.is_of_layers();
  for (const std::string& mode : options.modes) {
    run.modes.push_back(execution_mode_from(mode));
  }
  run.row_timeout = parse_duration(options.row_timeout);
  run.threads = options.threads;
  run.processes = options.processes;
  run.resume = options.resume;
  run.mlperf_logs = options.loads.mlperf_logs;
  if (!run.mlperf_logs.empty() && options.stacks.size() > 1) {
    run.mlperf_logs /= stack;
  }
  run.mlperf_submission = options.loads.mlperf_submission;
  run.mlperf_submitter = options.loads.mlperf_submitter;
  run.performance_sample_count = options.loads.performance_sample_count;
  run.accuracy = options.loads.accuracy;
  return run;
}

}  // namespace plumb
