// SPDX-License-Identifier: Apache-2.0
#include "harness/session/study/paired_studies.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "harness/analysis/compare/comparison_result.hpp"
#include "harness/analysis/compare/rounds/aa_study.hpp"
#include "harness/analysis/profile/explained_metrics.hpp"
#include "harness/analysis/profile/merged_profile.hpp"
#include "harness/analysis/profile/profile_shares.hpp"
#include "harness/analysis/report/change_json.hpp"
#include "harness/base/error.hpp"
#include "harness/base/timestamp.hpp"
#include "harness/model/key/layer_spec.hpp"
#include "harness/results/execution.hpp"
#include "harness/results/json_object.hpp"
#include "harness/results/series/series_name.hpp"
#include "harness/session/host/host.hpp"
#include "harness/session/paired/paired_session.hpp"
#include "harness/session/profile/run_profiles.hpp"
#include "harness/session/stored/enabling_command.hpp"
#include "harness/session/stored/stored_records.hpp"
#include "harness/session/work/suite_models.hpp"
#include "harness/store/store.hpp"
#include "harness/worker/protocol/requests.hpp"

namespace plumb::session {
namespace {

constexpr std::size_t kProcesses = analysis::GroupedSamples::kMinGroups;  ///< of a side, at least
/// Executions in one process: so long that kProcesses have kPairedSamples, half of them without.
constexpr Seconds kTurn{1.7};
constexpr Seconds kShortTurn{0.5};  ///< below, most of the time goes into starting processes
constexpr Seconds kTimeout{120.0};

/// Makes a model of a layer alone, for the name of its steps.
PlannedModel plan_alone(const std::string& key) {
  PlannedModel planned;
  planned.instance.model = key;
  auto& layer = planned.graph.layers.emplace_back();
  layer.key.text = key;
  layer.name = model::operator_name(key);
  return planned;
}

/// One side's processes of one model or layer, merged.
class SideProfile {
 public:
  SideProfile(const PairedRounds::Side& side,
              const analysis::ProfilingChoice::Model& wanted,
              const PlannedModel& planned,
              worker::Profile::Request request)
      : side_(side), wanted_(wanted), planned_(planned), request_(std::move(request)) {}

  void take(Seconds budget, const std::function<bool()>& keep_running) {
    const RawFolder folder("");
    request_.folder = folder.path();
    request_.budget = budget;
    results::NamedProfile more =
        profile_model(side_.worker, request_, kTimeout, planned_, keep_running);
    if (!wanted_.layer.empty()) {
      more.model = wanted_.layer;
    }
    if (profile_) {
      analysis::merge_profile(more, *profile_);
    } else {
      profile_ = std::move(more);
    }
  }
  [[nodiscard]] std::uint64_t samples() const {
    return profile_ ? analysis::count_samples(*profile_, {}) : 0;
  }
  [[nodiscard]] std::size_t processes() const {
    return profile_ ? std::max<std::size_t>(1, profile_->processes.size()) : 0;
  }
  [[nodiscard]] bool is_complete() const {
    return samples() >= kPairedSamples && processes() >= kProcesses;
  }
  /// Absent: nothing was taken.
  [[nodiscard]] std::optional<results::StoredProfile> stored() const {
    if (!profile_) {
      return std::nullopt;
    }
    return results::StoredProfile{
        side_.run, wanted_.subject, current_time(), results::condense_profile(*profile_)};
  }

 private:
  const PairedRounds::Side& side_;
  const analysis::ProfilingChoice::Model& wanted_;
  const PlannedModel& planned_;
  worker::Profile::Request request_;
  std::optional<results::NamedProfile> profile_;
};

/// Takes both sides' samples of a model in turns.
void take_turns(SideProfile& baseline,
                SideProfile& candidate,
                Seconds budget,
                const std::function<bool()>& keep_running) {
  const Seconds begin = steady_time();
  // Both sides' processes fit into the budget if a third of it goes into starting them.
  const Seconds turn = std::clamp(
      budget / (3.0 * kProcesses), std::min(kShortTurn, budget / 4.0), std::min(kTurn, budget));
  for (bool baseline_first = true; keep_running(); baseline_first = !baseline_first) {
    for (SideProfile* const side :
         {baseline_first ? &baseline : &candidate, baseline_first ? &candidate : &baseline}) {
      side->take(turn, keep_running);
    }
    if ((baseline.is_complete() && candidate.is_complete()) || steady_time() - begin >= budget) {
      return;
    }
  }
}

}  // namespace

PairedProfiles profile_in_pairs(const SessionContext& context,
                                const suite::ResolvedSuite& suite,
                                std::span<const PlannedModel> models,
                                std::span<const analysis::ProfilingChoice::Model> wanted,
                                const PairedRounds::Side& baseline,
                                const PairedRounds::Side& candidate,
                                Seconds budget) {
  const auto keep_running = [&] { return !context.stop.load(); };
  const Seconds end = steady_time() + budget;
  PairedProfiles sets;
  for (std::size_t i = 0; i < wanted.size() && keep_running(); ++i) {
    const auto planned = std::find_if(models.begin(), models.end(), [&](const auto& each) {
      return analysis::subject_of(each.instance) == wanted[i].subject;
    });
    const bool is_layer = !wanted[i].layer.empty();
    if (planned == models.end() && !is_layer) {
      continue;
    }
    const Seconds left = end - steady_time();
    if (left <= Seconds(0.0)) {
      sets.problems.push_back(
          fmt::format("{} of {} models and layers were not profiled: the time, {:.0f} s, ended",
                      wanted.size() - i,
                      wanted.size(),
                      budget.count()));
      break;
    }
    worker::Profile::Request request;
    request.layer = wanted[i].layer;
    if (!is_layer) {
      request.model = make_execute_request(
          context.models, suite.models[static_cast<std::size_t>(planned - models.begin())]);
    }
    request.model.modes = {{.mode = wanted[i].mode, .steps = {}}};
    request.model.verify = false;
    request.rate = kPassRate;
    const PlannedModel named = is_layer ? plan_alone(wanted[i].layer) : *planned;
    SideProfile before(baseline, wanted[i], named, request);
    SideProfile after(candidate, wanted[i], named, request);
    try {
      take_turns(before, after, left / static_cast<double>(wanted.size() - i), keep_running);
      if (!before.is_complete() || !after.is_complete()) {
        sets.problems.push_back(
            fmt::format("profiling {}: the time for it ended with {} and {} of {} samples, by {} "
                        "and {} of {} processes",
                        wanted[i].subject,
                        before.samples(),
                        after.samples(),
                        kPairedSamples,
                        before.processes(),
                        after.processes(),
                        kProcesses));
      }
    } catch (const worker::WorkerDied& death) {
      sets.problems.push_back(
          fmt::format("profiling {}: {}", wanted[i].subject, death.outcome().reason));
    } catch (const Error& error) {
      sets.problems.push_back(fmt::format("profiling {}: {}", wanted[i].subject, error.what()));
    }
    for (const auto& [side, set] :
         {std::pair(&before, &sets.baseline), std::pair(&after, &sets.candidate)}) {
      if (std::optional<results::StoredProfile> stored = side->stored()) {
        context.store.put_profile(*stored);
        set->push_back(*std::move(stored));
      }
    }
  }
  return sets;
}

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
PairedRounds::Side side_of(const results::RunHeader& run) {
  const int threads = results::threads_of(run.environment);
  PairedRounds::Side side{worker_options({run.stack, threads, device_of(run)}), run.id};
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

PairedProfiles::Outcome profile_comparison(const SessionContext& context,
                                           const analysis::ComparisonReport& report,
                                           Seconds budget) {
  StoredModels models = read_stored_models(context.models, report.candidate);
  std::map<std::string, const model::Graph*> graphs;
  for (const PlannedModel& model : models.planned) {
    graphs[analysis::subject_of(model.instance)] = &model.graph;
  }
  const analysis::ProfilingChoice choice =
      analysis::choose_comparison_profiling(report.comparison, graphs);
  PairedProfiles::Outcome outcome{choice.models.size(), {}};
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
  const PairedRounds::Side before = side_of(baseline);
  const PairedRounds::Side after = side_of(candidate);
  spdlog::info("profiling {} models and layers in which something changed, or as controls",
               choice.models.size());
  suite::ResolvedSuite suite;
  suite.models = std::move(models.named);
  outcome.problems =
      profile_in_pairs(context, suite, models.planned, choice.models, before, after, budget)
          .problems;
  return outcome;
}

namespace {

/// Two runs in which a stack was measured against itself.
struct SelfComparison {
  results::RunRecord first;
  results::RunRecord second;
};

using Process = analysis::NoiseReport::Study::Metric::Process;
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
        record.subject, results::SeriesName::Kind::kEndToEnd, execution.mode, execution.scenario)];
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
std::vector<analysis::NoiseReport::Study::Metric> replicated_metrics(
    const store::Store& store, std::span<const SelfComparison> calibrations) {
  std::map<std::string, analysis::NoiseReport::Study::Metric> metrics;
  for (const SelfComparison& calibration : calibrations) {
    std::map<std::string, Side> second = read_sides(store, calibration.second);
    for (auto& [series, side] : read_sides(store, calibration.first)) {
      analysis::NoiseReport::Study::Metric& metric = metrics[series];
      metric.series = series;
      metric.kind = side.kind;
      metric.resolution = std::max({metric.resolution, side.resolution, second[series].resolution});
      for (auto& [round, process] : side.rounds) {
        metric.pairs.emplace_back(std::move(process), std::move(second[series].rounds[round]));
      }
    }
  }
  std::vector<analysis::NoiseReport::Study::Metric> result;
  for (auto& [series, metric] : metrics) {
    result.push_back(std::move(metric));
  }
  return result;
}

/// Measures the pairs, up to the end of the budget. Returns false if the user stopped it.
bool measure(const SessionContext& context,
             const PairedSession& session,
             const PairedRounds::Work& work,
             const PairedSession::Options& options) {
  PairedRounds rounds(
      context.store, session.baseline(), session.candidate(), options.row_timeout, context.stop);
  ProgressDisplay::Stage stage(context.progress);
  ProgressDisplay::Progress progress;
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
                                  const PairedSession::Options& options,
                                  const analysis::NoiseReport::Study::Plan& plan) {
  const auto side = [&] { return paired_run(options.worker.stack, suite, models, options); };
  const PairedSession::Run first = side();
  const PairedSession::Run second = side();
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
