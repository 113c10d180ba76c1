// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/what_if_measurement.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "harness/base/error.hpp"
#include "harness/cli/command.hpp"
#include "harness/cli/run_options.hpp"
#include "harness/session/run/suite_run.hpp"
#include "harness/session/stored/enabling_command.hpp"
#include "harness/session/stored/run_analysis.hpp"
#include "harness/session/work/suite_models.hpp"

namespace plumb::cli {
namespace {

int threads_of(const results::RunHeader& run) {
  const auto found = run.environment.identity.find("threads");
  int threads = 1;
  if (found != run.environment.identity.end()) {
    std::from_chars(found->second.data(), found->second.data() + found->second.size(), threads);
  }
  return threads;
}

bool was_tried(const analysis::ModelBounds& model, const std::string& mode) {
  return std::any_of(model.executions.begin(),
                     model.executions.end(),
                     [&](const analysis::ExecutionTime& each) { return each.mode == mode; });
}

/// Returns the choice that a run was made with. Throws Error{kUser} if it is not known.
SuiteChoice choice_of(const results::RunHeader& run) {
  constexpr std::size_t kSuite = 2;  // of "plumb run SUITE"
  const std::vector<std::string>& words = run.command;
  if (words.size() <= kSuite || words[1] != "run") {
    throw Error(Error::Kind::kUser,
                fmt::format("run {} was not made by `plumb run`, so there is nothing to repeat: "
                            "measure a suite first",
                            run.id));
  }
  SuiteChoice choice;
  choice.suite = words[kSuite];
  for (std::size_t i = kSuite + 1; i + 1 < words.size(); i += 2) {
    std::vector<std::string>* const values = words[i] == "--model"      ? &choice.models
                                             : words[i] == "--batch"    ? &choice.batches
                                             : words[i] == "--rebatch"  ? &choice.rebatches
                                             : words[i] == "--dtype"    ? &choice.dtypes
                                             : words[i] == "--training" ? &choice.trainings
                                             : words[i] == "--dim"      ? &choice.dims
                                                                        : nullptr;
    if (values != nullptr) {
      values->push_back(words[i + 1]);
    }
  }
  return choice;
}

/// Measures a suite once, and keeps what follows from it. Throws Error{kTryAgain} if it did not
/// finish.
results::RunId measure_once(CommandContext& context,
                            store::Store& store,
                            const RunOptions& options,
                            suite::ResolvedSuite suite) {
  const std::vector<session::PlannedModel> models = session::prepare_models(context.models, suite);
  const session::SuiteRunOutcome outcome = session::run_suite(
      context.session(store), suite_run_options(options, options.stacks.front()), suite, models);
  session::store_analysis(
      store, session::analyze_run({store, context.models}, store.find_run(outcome.run), {}));
  if (outcome.state != results::RunState::kFinished && !context.stop.load()) {
    throw Error(Error::Kind::kTryAgain,
                fmt::format("run {} did not finish: see the messages above", outcome.run));
  }
  return outcome.run;
}

/// Returns a suite of layers with their channels padded.
suite::ResolvedSuite suite_of_padded(const std::set<model::LayerKey>& keys) {
  suite::ResolvedSuite suite;
  suite.name = "padded-layers";
  suite.caches = {results::CacheMode::kNone};
  for (const model::LayerKey& key : keys) {
    suite.layers.push_back({.key = key, .count = 1, .file = "plumb whatif --measure"});
  }
  return suite;
}

}  // namespace

MissingEvidence find_missing(const analysis::RunReport& report) {
  MissingEvidence missing;
  const int threads = threads_of(report.run.header);
  bool all_executed = true;
  for (const analysis::ModelReport& model : report.models) {
    if (threads > 1 && model.schedules.empty()) {
      missing.threads.clear();
      for (int fewer = 1; fewer < threads; fewer *= 2) {
        missing.threads.push_back(fewer);
      }
    }
    for (const analysis::StepLimit& step : model.limits.steps) {
      if (!step.padded.text.empty() && !step.padded_seconds) {
        missing.padded.insert(step.padded);
      }
    }
    for (const analysis::WhatIfResult& result : model.whatifs.whatifs) {
      const results::ExecutionMode mode = results::execution_mode_from(result.execution_mode);
      // The fastest variants of a mode are those of measured layers.
      const bool needs_times = mode.best_variant && !result.predicted;
      if (!result.applies || needs_times || (mode.parallel_branches && threads < 2)) {
        continue;
      }
      missing.modes.insert(mode);
      missing.modes.insert(results::execution_mode_from(result.baseline_mode));
      all_executed = all_executed && was_tried(model.bounds, result.execution_mode);
    }
  }
  if (all_executed) {
    missing.modes.clear();
  }
  return missing;
}

results::RunId measure_missing(CommandContext& context,
                               store::Store& store,
                               const analysis::RunReport& report,
                               const std::vector<std::string>& models) {
  const results::RunHeader& run = report.run.header;
  const MissingEvidence missing = find_missing(report);
  if (missing.empty()) {
    spdlog::info("run {} lacks nothing that can be measured", run.id);
    return run.id;
  }
  RunOptions options;
  options.choice = choice_of(run);
  if (!models.empty() && !options.choice.suite.empty()) {
    options.choice.models = models;
  }
  options.stacks = {run.stack};
  options.device = session::device_of(run);
  options.reuse = "always";
  if (!missing.padded.empty()) {
    spdlog::info("measuring {} layers with padded channels", missing.padded.size());
    RunOptions layers = options;
    layers.choice = {};
    layers.only = "layers";
    layers.threads = threads_of(run);
    static_cast<void>(measure_once(context, store, layers, suite_of_padded(missing.padded)));
  }
  for (const int threads : missing.threads) {
    if (context.stop.load()) {
      return run.id;
    }
    spdlog::info("measuring the layers with {} thread{}", threads, threads == 1 ? "" : "s");
    RunOptions layers = options;
    layers.only = "layers";
    layers.threads = threads;
    static_cast<void>(
        measure_once(context, store, layers, requested_suite(context.models, layers)));
  }
  if (missing.modes.empty() || context.stop.load()) {
    return run.id;
  }
  for (const results::ExecutionMode& mode : missing.modes) {
    options.modes.push_back(to_text(mode));
  }
  options.threads = threads_of(run);
  spdlog::info("executing the models in the modes {}", fmt::join(options.modes, ", "));
  return measure_once(context, store, options, requested_suite(context.models, options));
}

}  // namespace plumb::cli
