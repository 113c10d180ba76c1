// SPDX-License-Identifier: Apache-2.0
#include "harness/session/study/noise_study.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/analysis/compare/rounds/aa_study.hpp"
#include "harness/analysis/report/comparison_json.hpp"
#include "harness/base/error.hpp"
#include "harness/base/timestamp.hpp"
#include "harness/results/execution.hpp"
#include "harness/results/json_object.hpp"
#include "harness/results/series/series_name.hpp"
#include "harness/session/paired/paired_run.hpp"
#include "harness/session/stored/stored_noise.hpp"
#include "harness/session/stored/stored_records.hpp"
#include "harness/session/work/suite_models.hpp"
#include "harness/store/store.hpp"

namespace plumb::session {
namespace {

/// Two runs in which a stack was measured against itself.
struct SelfComparison {
  results::RunRecord first;
  results::RunRecord second;
};

using Process = analysis::ReplicatedMetric::Process;
using Rounds = std::map<std::int64_t, Process>;

/// One metric of one run: its kind, its processes by round, and the resolution.
struct Side {
  analysis::MetricKind kind = analysis::MetricKind::kLayer;
  Rounds rounds;
  double resolution = 0.0;
};

double tick_of(const results::Environment& environment) {
  double tick = 0.0;
  const auto fact = environment.facts.find("measure.timer_tick_seconds");
  if (fact != environment.facts.end()) {
    const std::string& text = fact->second;
    std::from_chars(text.data(), text.data() + text.size(), tick);
  }
  return tick;
}

Process make_process(const results::Measurement& row, const std::string& day) {
  Process process{day, {}};
  if (row.outcome.timed()) {
    for (const Seconds sample : row.samples) {
      process.samples.push_back((sample - row.floor).count());
    }
  }
  return process;
}

std::map<std::string, Side> read_sides(const store::Store& store, const results::RunRecord& run) {
  std::map<std::string, Side> sides;
  const std::string day = to_text(run.header.started).substr(0, 10);
  const double tick = tick_of(run.header.environment);
  for (const results::StoredMeasurement& stored : store.measurements(run.header.id)) {
    const results::Measurement& row = stored.measurement;
    if (row.purpose == results::Purpose::kFull && row.cache == results::CacheMode::kNone &&
        !stored.reused) {
      Side& side = sides[results::layer_series(row.key.text)];
      side.kind = analysis::MetricKind::kLayer;
      side.rounds[row.process] = make_process(row, day);
      side.resolution = std::max(
          side.resolution, tick / static_cast<double>(std::max<std::int64_t>(1, row.repetitions)));
    }
  }
  for (const results::DerivedRecord& record :
       store.derived(run.header.id, results::kPairedExecutionRecord)) {
    const results::Execution execution = results::execution_from_json(record.payload);
    Side& side = sides[results::model_series(
        record.subject, results::SeriesKind::kEndToEnd, execution.mode, execution.scenario)];
    side.kind = analysis::MetricKind::kEndToEnd;
    side.rounds[execution.row.process] = make_process(execution.row, day);
  }
  return sides;
}

/// Finds the stored calibrations of the same suite in the same environment, oldest first.
std::vector<SelfComparison> stored_calibrations(const store::Store& store,
                                                const results::RunHeader& like) {
  std::vector<SelfComparison> found;
  for (const results::RunRecord& run : store.runs()) {
    if (run.header.suite == like.suite && run.header.environment.id() == like.environment.id()) {
      for (const results::DerivedRecord& record :
           store.derived(run.header.id, results::kNoiseRecord)) {
        const nlohmann::json document = results::parse_json(record.payload);
        const std::string& second = results::JsonObject(document).text("second_run");
        found.push_back({store.find_run(run.header.id), store.find_run(second)});
      }
    }
  }
  std::erase_if(found, [&](const SelfComparison& each) {
    return !measure_the_same(each.first.header, like);
  });
  std::reverse(found.begin(), found.end());
  return found;
}

/// Reads what both sides of each round measured: layers and models end to end. Samples are in
/// seconds, less the harness overhead. A side without a time has no samples. The resolution of a
/// layer is the timer's tick ÷ the executions in a sample, or zero if the worker does not report
/// its tick.
std::vector<analysis::ReplicatedMetric> replicated_metrics(
    const store::Store& store, std::span<const SelfComparison> calibrations) {
  std::map<std::string, analysis::ReplicatedMetric> metrics;
  for (const SelfComparison& calibration : calibrations) {
    std::map<std::string, Side> second = read_sides(store, calibration.second);
    for (auto& [series, side] : read_sides(store, calibration.first)) {
      analysis::ReplicatedMetric& metric = metrics[series];
      metric.series = series;
      metric.kind = side.kind;
      metric.resolution = std::max({metric.resolution, side.resolution, second[series].resolution});
      for (auto& [round, process] : side.rounds) {
        metric.pairs.emplace_back(std::move(process), std::move(second[series].rounds[round]));
      }
    }
  }
  std::vector<analysis::ReplicatedMetric> result;
  for (auto& [series, metric] : metrics) {
    result.push_back(std::move(metric));
  }
  return result;
}

/// Measures the pairs, up to the end of the budget. Returns false if the user stopped it.
bool measure(const SessionContext& context,
             const PairedSession& session,
             const PairedWork& work,
             const PairedOptions& options) {
  PairedRounds rounds(
      context.store, session.baseline(), session.candidate(), options.row_timeout, context.stop);
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
                                  const PairedOptions& options,
                                  const analysis::ResamplingPlan& plan) {
  const auto side = [&] { return paired_run(options.worker.stack, suite, models, options); };
  const PairedRun first = side();
  const PairedRun second = side();
  PairedSession session(context.store, first, second);
  const bool whole = measure(
      context, session, collect_work(context.models, suite, models, options.modes), options);
  session.finish(whole ? results::RunState::kFinished : results::RunState::kInterrupted);
  if (const std::vector<std::string> faults = session.stack_faults(); !faults.empty()) {
    throw Error(
        Error::Kind::kEnvironment,
        "the stack changed while it was measured, so nothing is calibrated: " + faults.front());
  }
  std::vector<SelfComparison> calibrations = stored_calibrations(context.store, first.header);
  calibrations.push_back(
      {context.store.find_run(first.header.id), context.store.find_run(second.header.id)});
  analysis::NoiseReport report{
      .suite = suite.name,
      .stack = options.worker.stack,
      .environment = first.header.environment.id(),
      .first = first.header.id,
      .second = second.header.id,
      .calibrations = calibrations.size(),
      .noise = analysis::calibrate_noise(replicated_metrics(context.store, calibrations), plan)};
  put_run_record(context.store,
                 first.header.id,
                 results::kNoiseRecord,
                 suite.name,
                 analysis::document_text(analysis::noise_document(report)));
  return report;
}

}  // namespace plumb::session
