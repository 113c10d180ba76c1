// SPDX-License-Identifier: Apache-2.0
#include "harness/session/study/noise_study.hpp"

#include <spdlog/spdlog.h>

#include <chrono>

#include "harness/analysis/report/noise_json.hpp"
#include "harness/base/error.hpp"
#include "harness/base/timestamp.hpp"
#include "harness/session/paired/paired_run.hpp"
#include "harness/session/paired/paired_work.hpp"
#include "harness/session/stored/replicated_metrics.hpp"
#include "harness/session/stored/run_record.hpp"
#include "harness/session/stored/stored_noise.hpp"

namespace plumb::session {
namespace {

/// Measures the pairs, up to the end of the budget. Returns false if the user stopped it.
bool measure(const SessionContext& context,
             const PairedSession& session,
             const PairedWork& work,
             const NoiseStudyOptions& options) {
  PairedOptions limits;
  limits.row_timeout = options.row_timeout;
  PairedRounds rounds(context.store, session.baseline(), session.candidate(), limits, context.stop);
  ProgressStage stage(context.progress);
  Progress progress;
  progress.unit = "pairs";
  progress.total = options.pairs;
  const Seconds start = steady_time();
  while (progress.done < options.pairs) {
    static_cast<void>(rounds.measure(work, [&](const std::string& current) {
      progress.current = current;
      progress.elapsed = steady_time() - start;
      stage.show(progress);
    }));
    if (context.stop.load()) {
      return false;
    }
    ++progress.done;
    progress.elapsed = steady_time() - start;
    progress.left = progress.elapsed * (static_cast<double>(options.pairs - progress.done) /
                                        static_cast<double>(progress.done));
    if (options.budget && progress.elapsed >= *options.budget) {
      spdlog::warn("the budget ended after {} of {} pairs", progress.done, options.pairs);
      return true;
    }
  }
  return true;
}

}  // namespace

analysis::NoiseReport study_noise(const SessionContext& context,
                                  const suite::ResolvedSuite& suite,
                                  std::span<const PlannedModel> models,
                                  const NoiseStudyOptions& options) {
  const auto side = [&] {
    return paired_run(
        options.stack, options.threads, suite, models, options.command, options.device);
  };
  const PairedRun first = side();
  const PairedRun second = side();
  PairedSession session(context.store, first, second);
  const auto modes =
      options.models ? default_paired_modes() : std::vector<results::ExecutionMode>{};
  const bool whole =
      measure(context, session, collect_work(context.models, suite, models, modes), options);
  session.finish(whole ? results::RunState::kFinished : results::RunState::kInterrupted);
  if (const std::vector<std::string> faults = session.stack_faults(); !faults.empty()) {
    throw Error(
        Error::Kind::kEnvironment,
        "the stack changed while it was measured, so nothing is calibrated: " + faults.front());
  }
  std::vector<SelfComparison> calibrations = stored_calibrations(context.store, first.header);
  calibrations.push_back(
      {context.store.find_run(first.header.id), context.store.find_run(second.header.id)});
  analysis::NoiseReport report{.suite = suite.name,
                               .stack = options.stack,
                               .environment = first.header.environment.id(),
                               .first = first.header.id,
                               .second = second.header.id,
                               .calibrations = calibrations.size(),
                               .noise = analysis::calibrate_noise(
                                   replicated_metrics(context.store, calibrations), options.plan)};
  put_run_record(context.store,
                 first.header.id,
                 kNoiseRecord,
                 suite.name,
                 analysis::document_text(analysis::noise_document(report)));
  return report;
}

}  // namespace plumb::session
