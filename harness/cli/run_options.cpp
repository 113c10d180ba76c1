// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/run_options.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/session/host/user_paths.hpp"
#include "harness/session/work/suite_models.hpp"

namespace plumb {
namespace {

/// Makes a suite of models alone: names of the zoo, or paths relative to the working folder.
SuiteSpec suite_of(const RunOptions& options) {
  SuiteSpec spec;
  spec.file = std::filesystem::current_path() / "models.toml";
  spec.name = "models";
  if (options.rebatch || options.batch) {
    spec.defaults.batch = {options.rebatch ? *options.rebatch : *options.batch};
  }
  for (const std::string& model : options.models) {
    SuiteSpec::ModelEntry& entry = spec.models.emplace_back();
    if (std::filesystem::path(model).extension() == ".onnx") {
      entry.path = model;
      entry.rebatch = options.rebatch.has_value();
    } else {
      entry.name = model;
    }
  }
  return spec;
}

}  // namespace

ResolvedSuite requested_suite(const ModelSource& models, const RunOptions& options) {
  if (options.suite.empty() && options.models.empty()) {
    throw Error(Error::Kind::kUser,
                "say what to measure: a suite, such as suites/quick.toml, or --model and a "
                "built-in name or an .onnx file");
  }
  if (!options.suite.empty() && (options.batch || options.rebatch)) {
    throw Error(Error::Kind::kUser,
                fmt::format("'--{}' is for models without a suite: set 'batch' in suite '{}'",
                            options.batch ? "batch" : "rebatch",
                            options.suite));
  }
  ResolvedSuite suite = resolve_suite(
      models, options.suite.empty() ? suite_of(options) : read_suite(find_suite(options.suite)));
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
  if (!options.suite.empty() && !options.models.empty()) {
    keep_models(suite, options.models);
  }
  apply(options.loads, suite);
  return suite;
}

SuiteRunOptions suite_run_options(const RunOptions& options, const std::string& stack) {
  SuiteRunOptions run;
  run.stack = stack;
  run.command = {"plumb", "run", options.suite};
  run.shard = options.shard;
  run.layers = options.only != "models";
  // If scenarios were asked for, models are not executed by themselves.
  run.models = options.only != "layers" && options.loads.scenarios.empty();
  run.loads = options.only != "layers";
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
