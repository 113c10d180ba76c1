// SPDX-License-Identifier: Apache-2.0
#include "harness/session/study/compared_profiles.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <map>
#include <utility>

#include "harness/analysis/compare/environment_difference.hpp"
#include "harness/analysis/profile/comparison_profiling.hpp"
#include "harness/base/error.hpp"
#include "harness/session/host/system_facts.hpp"
#include "harness/session/host/worker_choice.hpp"
#include "harness/session/stored/enabling_command.hpp"
#include "harness/session/study/paired_profiles.hpp"
#include "harness/session/work/suite_models.hpp"
#include "harness/worker/protocol/profile_request.hpp"

namespace plumb::session {
namespace {

/// Refuses to profile on a machine or with a stack that a run did not measure.
void refuse_changed(const results::RunHeader& run, const results::Environment& now) {
  std::string unlike;
  for (const analysis::EnvironmentDifference& each :
       analysis::environment_diff(run.environment, now)) {
    if (each.identity && each.name != "method" && !analysis::names_device(each.name)) {
      unlike +=
          fmt::format(" {}: '{}' then and '{}' now;", each.name, each.baseline, each.candidate);
    }
  }
  if (!unlike.empty()) {
    throw Error(Error::Kind::kRefused,
                fmt::format("the stack '{}' on this machine is not what run {} measured:{} profile "
                            "where it was measured, or measure both stacks with `plumb qualify`",
                            run.stack,
                            run.id,
                            unlike));
  }
}

/// Returns how workers execute what a run measured. Its profiles are kept with the run.
PairedSide side_of(const results::RunHeader& run) {
  const int threads = results::threads_of(run.environment);
  PairedSide side{worker_options({run.stack, threads, device_of(run)}), run.id};
  const results::Environment now = join_environment(
      read_system(), worker::WorkerProcess(side.worker).describe(), threads, run.stack);
  refuse_changed(run, now);
  if (!now.facts.contains(worker::kSamplingFact)) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("workers of the stack '{}' cannot be sampled", run.stack));
  }
  return side;
}

}  // namespace

ComparedProfiles profile_comparison(const SessionContext& context,
                                    const analysis::RunComparisonReport& report,
                                    Seconds budget) {
  StoredModels models = read_stored_models(context.models, report.candidate);
  std::map<std::string, const model::Graph*> graphs;
  for (const PlannedModel& model : models.planned) {
    graphs[analysis::subject_of(model.instance)] = &model.graph;
  }
  const analysis::ProfilingChoice choice =
      analysis::choose_comparison_profiling(report.comparison, graphs);
  ComparedProfiles outcome{choice.models.size(), {}};
  if (choice.models.empty()) {
    outcome.problems.emplace_back("no change is certain, so nothing was profiled");
    return outcome;
  }
  const results::RunHeader& baseline = report.baseline.header;
  const results::RunHeader& candidate = report.candidate.header;
  if (baseline.stack == candidate.stack) {
    throw Error(Error::Kind::kRefused,
                fmt::format("both runs are of the stack '{}', so that profiles of now would not "
                            "differ{}",
                            baseline.stack,
                            analysis::has_model(choice)
                                ? ": keep the profiles of runs with `plumb run --profile-budget`"
                                : ""));
  }
  const PairedSide before = side_of(baseline);
  const PairedSide after = side_of(candidate);
  spdlog::info("profiling {} models and layers in which something changed, or as controls",
               choice.models.size());
  suite::ResolvedSuite suite;
  suite.models = std::move(models.named);
  outcome.problems =
      profile_in_pairs(context, suite, models.planned, choice.models, before, after, budget)
          .problems;
  return outcome;
}

}  // namespace plumb::session
