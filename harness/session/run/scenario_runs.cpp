// SPDX-License-Identifier: Apache-2.0
#include "harness/session/run/scenario_runs.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "harness/analysis/bounds/model_execution.hpp"
#include "harness/base/error.hpp"
#include "harness/rewrite/quantized_graph.hpp"
#include "harness/session/mlperf/mlperf_submission.hpp"
#include "harness/session/stored/run_analysis.hpp"
#include "harness/session/stored/stored_records.hpp"
#include "harness/session/work/suite_models.hpp"
#include "harness/session/work/worker_requests.hpp"

namespace plumb::session {
namespace {

constexpr Seconds kWarmUp{1.0};       // at most
constexpr double kWarmUpShare = 0.1;  // of the duration, at most
constexpr std::int64_t kMultiStreamBatch = 8;

std::int64_t maximum_batch_of(const suite::Scenario& scenario) {
  return scenario.settings.maximum_batch.value_or(
      scenario.name == loadgen::ScenarioName::kMultiStream ? kMultiStreamBatch : 1);
}

}  // namespace

std::optional<loadgen::RequestedLoad> load_of(const suite::Scenario& scenario) {
  const suite::Scenario::Limits& limits = scenario.limits;
  if (!limits.latency && (limits.first_token || limits.per_token)) {
    return std::nullopt;
  }
  const suite::Scenario::Settings& settings = scenario.settings;
  loadgen::RequestedLoad load;
  load.scenario = loadgen::load_scenario(scenario.name);
  load.fixed_duration = settings.duration;
  load.minimum_duration = settings.minimum_duration;
  load.percentile = limits.percentile;
  load.latency_limit = limits.latency;
  load.target_rate = settings.target_rate;
  const Seconds duration =
      settings.duration.value_or(settings.minimum_duration.value_or(kWarmUp / kWarmUpShare));
  load.warm_up = std::min(kWarmUp, duration * kWarmUpShare);
  load.seeds = loadgen::kMlperfSeeds;
  return load;
}

loadgen::DynamicBatcher::Policy batches_of(const suite::Scenario& scenario) {
  const Seconds timeout = scenario.settings.batch_timeout.value_or(Seconds(0.0));
  return {.maximum_batch = static_cast<std::size_t>(maximum_batch_of(scenario)),
          .timeout = std::chrono::round<std::chrono::nanoseconds>(timeout),
          .lanes = static_cast<std::size_t>(scenario.settings.lanes.value_or(1))};
}

std::vector<std::size_t> list_buckets(const suite::Scenario& scenario) {
  const auto most = static_cast<std::size_t>(maximum_batch_of(scenario));
  std::vector<std::size_t> buckets{1};
  if (loadgen::load_scenario(scenario.name) == loadgen::RequestedLoad::Scenario::kServer) {
    for (std::size_t bucket = 2; bucket < most; bucket *= 2) {
      buckets.push_back(bucket);
    }
  }
  if (most > 1) {
    buckets.push_back(most);
  }
  return buckets;
}

void check_loads(const suite::ResolvedSuite& suite) {
  for (const suite::ResolvedSuite::Model& model : suite.models) {
    for (const suite::Scenario& scenario : model.scenarios) {
      if (const std::optional<loadgen::RequestedLoad> load = load_of(scenario)) {
        try {
          static_cast<void>(loadgen::resolve_load(*load));
        } catch (const Error& error) {
          throw Error(error.kind(),
                      fmt::format("model '{}', scenario {}: {}; set it in [model.{}] of the suite, "
                                  "or see the options of `plumb run`",
                                  model.name,
                                  to_text(scenario.name),
                                  error.what(),
                                  to_text(scenario.name)));
        }
      }
    }
  }
}

namespace {

/// One scenario of one model in one mode, to be executed.
struct WantedLoad {
  const suite::ResolvedSuite::Model& model;
  const PlannedModel& planned;
  const suite::Scenario& scenario;
  results::ExecutionMode mode;

  [[nodiscard]] const analysis::ModelInstance& instance() const { return planned.instance; }
};

/// Options of a run with its scenarios' submission to MLPerf, if one is wanted.
struct LoadSettings {
  const SuiteRun::Options& options;
  std::optional<MlperfSubmission> submission = {};
};

std::string name_of(const WantedLoad& wanted) {
  return fmt::format("{}, {}, {}",
                     to_text(wanted.instance(), ", "),
                     to_text(wanted.scenario.name),
                     to_text(wanted.mode));
}

results::ScenarioResult refused(const WantedLoad& wanted, std::string reason) {
  results::ScenarioResult load;
  load.mode = to_text(wanted.mode);
  load.model = wanted.model.name;
  load.outcome = {results::Outcome::Kind::kUnsupported, std::move(reason)};
  load.started = current_time();
  return load;
}

/// Returns the mode with its steps. Absent if the run lacks a time for a layer, or if batches of
/// several sizes would need variants that were measured at one size.
std::optional<worker::ModeRequest> find_mode(const WantedLoad& wanted,
                                             const analysis::ResultSet& results) {
  const bool of_one_batch = wanted.mode.best_variant || wanted.mode.micro_batch;
  if (of_one_batch && list_buckets(wanted.scenario).size() > 1) {
    return std::nullopt;
  }
  std::vector<worker::ModeRequest> modes =
      mode_requests(wanted.planned, results, {{wanted.mode}, {}});
  return modes.empty() ? std::nullopt : std::optional(std::move(modes.front()));
}

worker::LoadRequest make_request(const ModelSource& models,
                                 const WantedLoad& wanted,
                                 const worker::ModeRequest& mode,
                                 const loadgen::RequestedLoad& load,
                                 std::optional<Seconds> budget,
                                 Seconds row_timeout) {
  worker::LoadRequest request;
  for (const std::size_t samples : list_buckets(wanted.scenario)) {
    suite::ResolvedSuite::Model joined = wanted.model;
    joined.batch *= static_cast<std::int64_t>(samples);
    request.buckets.push_back({samples, make_execute_request(models, joined)});
    request.buckets.back().model.modes = {mode};
  }
  request.inputs_per_sample = wanted.model.batch;
  request.load = load;
  // The worker must find a stalled system before this side takes the worker for hanging.
  request.load.stall_limit = row_timeout * 0.5;
  request.batches = batches_of(wanted.scenario);
  request.budget = budget;
  return request;
}

/// Returns whether a run has a load whose verdict more time would not change.
bool is_conclusive(std::span<const results::ScenarioResult> loads,
                   loadgen::ScenarioName scenario,
                   const std::string& mode) {
  return std::any_of(loads.begin(), loads.end(), [&](const results::ScenarioResult& load) {
    const results::ScenarioResult::Verdict verdict = judge_load(load);
    return load.scenario == scenario && load.mode == mode &&
           (verdict == results::ScenarioResult::Verdict::kValid ||
            verdict == results::ScenarioResult::Verdict::kFailed);
  });
}

/// Lists the scenarios of the chosen models for which the run has no conclusive load.
std::vector<WantedLoad> wanted_loads(
    const suite::ResolvedSuite& suite,
    std::span<const PlannedModel> models,
    std::span<const std::size_t> chosen,
    const std::vector<results::ExecutionMode>& modes,
    std::map<std::string, std::vector<results::ScenarioResult>> done) {
  std::vector<WantedLoad> wanted;
  for (const std::size_t i : chosen) {
    const std::vector<results::ScenarioResult>& known =
        done[analysis::subject_of(models[i].instance)];
    for (const suite::Scenario& scenario : suite.models[i].scenarios) {
      for (const results::ExecutionMode& mode : modes) {
        if (!is_conclusive(known, scenario.name, to_text(mode))) {
          wanted.push_back({suite.models[i], models[i], scenario, mode});
        }
      }
    }
  }
  return wanted;
}

/// Returns the folder of a scenario's logs: the user's, else the submission's. Empty: there is
/// none.
std::filesystem::path log_folder(const WantedLoad& wanted, const LoadSettings& settings) {
  const std::string mode = to_text(wanted.mode);
  if (!settings.options.mlperf_logs.empty()) {
    return mlperf_log_folder(
        settings.options.mlperf_logs, wanted.instance(), mode, to_text(wanted.scenario.name));
  }
  return settings.submission
             ? submission_folder(
                   *settings.submission, wanted.instance(), mode, wanted.scenario.name)
             : std::filesystem::path();
}

/// Writes the logs and the submission that were asked for, and what a checker will refuse.
void write_files(const WantedLoad& wanted,
                 const results::ScenarioResult& load,
                 const LoadSettings& settings) {
  const std::filesystem::path folder = log_folder(wanted, settings);
  if (!settings.options.mlperf_logs.empty()) {
    write_mlperf_logs(folder, load);
  }
  if (!settings.submission) {
    return;
  }
  const MlperfSubmission::Load submitted{
      wanted.instance(), wanted.planned.graph, wanted.model.path, load};
  write_mlperf_submission(*settings.submission, submitted, mlperf_accuracy_file(folder));
  for (const std::string& fault : submission_faults(submitted)) {
    spdlog::warn("{}: MLPerf's submission checker will refuse it: {}", name_of(wanted), fault);
  }
}

results::ScenarioResult execute(
    const ModelSource& models,
    Executor& executor,
    const WantedLoad& wanted,
    const analysis::ResultSet& results,
    std::optional<Seconds> budget,
    const LoadSettings& settings,
    const std::function<void(const worker::LoadRequest::Progress&)>& report) {
  if (wanted.instance().dtype == rewrite::kInt8) {
    return refused(wanted,
                   "a scenario in 8 bits executes the f32 model in an int8 mode: use dtype f32 and "
                   "--mode fusion+int8");
  }
  const std::optional<loadgen::RequestedLoad> load = load_of(wanted.scenario);
  if (!load) {
    return refused(wanted,
                   "limits on tokens are not supported: give a latency limit for the query");
  }
  const std::optional<worker::ModeRequest> mode = find_mode(wanted, results);
  if (!mode) {
    return refused(wanted,
                   "best_variant needs a time for every layer in this run, and a maximum batch of "
                   "1: variants are measured at one batch");
  }
  worker::LoadRequest request;
  try {
    request = make_request(models, wanted, *mode, *load, budget, settings.options.row_timeout);
  } catch (const Error& error) {
    return refused(wanted,
                   fmt::format("the model cannot be built at a larger batch: {}", error.what()));
  }
  if (settings.options.accuracy || settings.submission) {
    request.accuracy_log = mlperf_accuracy_file(log_folder(wanted, settings));
  }
  const MlperfSubmission::DataSetSize size = data_set_size(
      wanted.model.name, wanted.planned.graph, settings.options.performance_sample_count);
  if (!size.shortage.empty()) {
    spdlog::warn("{}: {}", name_of(wanted), size.shortage);
  }
  request.data_set = size.samples;
  return executor.run_scenario(request, report);
}

void log_verdict(const WantedLoad& wanted, const results::ScenarioResult& load) {
  const results::ScenarioResult::Verdict verdict = judge_load(load);
  if (verdict == results::ScenarioResult::Verdict::kValid) {
    return;
  }
  for (const std::string& reason : results::list_reasons(load)) {
    spdlog::warn("{}: {}: {}",
                 name_of(wanted),
                 verdict == results::ScenarioResult::Verdict::kNotExecuted
                     ? to_text(load.outcome.kind)
                     : "INVALID",
                 reason);
  }
}

}  // namespace

bool execute_loads(const SessionContext& context,
                   Executor& executor,
                   const results::RunHeader& run,
                   const suite::ResolvedSuite& suite,
                   std::span<const PlannedModel> models,
                   std::span<const std::size_t> chosen,
                   const SuiteRun::Options& options,
                   const std::function<std::optional<Seconds>()>& left,
                   const std::function<bool()>& stopped) {
  LoadSettings settings{options};
  if (!options.mlperf_submission.empty()) {
    settings.submission = {.folder = options.mlperf_submission,
                           .submitter = options.mlperf_submitter,
                           .environment = run.environment,
                           .stack = run.stack};
  }
  const std::vector<results::ExecutionMode>& modes = options.wanted.modes;
  PLUMB_CHECK(suite.models.size() == models.size());
  const std::vector<WantedLoad> wanted =
      wanted_loads(suite,
                   models,
                   chosen,
                   modes.empty() ? std::vector<results::ExecutionMode>{{}} : modes,
                   read_loads(context.store, run.id));
  if (wanted.empty()) {
    return true;
  }
  const analysis::ResultSet results = read_result_set(context.store, run.id);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (stopped()) {
      return false;
    }
    spdlog::info("scenario {}/{}: {}", i + 1, wanted.size(), name_of(wanted[i]));
    std::optional<Seconds> budget = left();
    if (budget) {
      *budget /= static_cast<double>(wanted.size() - i);
    }
    results::ScenarioResult load;
    {
      ProgressDisplay::Stage stage(context.progress);
      load = execute(
          context.models,
          executor,
          wanted[i],
          results,
          budget,
          settings,
          [&](const worker::LoadRequest::Progress& progress) {
            stage.show(
                {.done = i,
                 .total = wanted.size(),
                 .unit = "scenarios",
                 .current = fmt::format(
                     "{}: {}, {} batches", name_of(wanted[i]), progress.phase, progress.batches),
                 .elapsed = progress.elapsed,
                 .left = std::nullopt});
          });
    }
    if (load.outcome.kind == results::Outcome::Kind::kSkipped) {
      return false;  // stopped by the user: what there was of it says nothing
    }
    load.scenario = wanted[i].scenario.name;
    put_run_record(context.store,
                   run.id,
                   results::kLoadRecord,
                   analysis::subject_of(wanted[i].instance()),
                   to_json(load));
    log_verdict(wanted[i], load);
    if (load.result) {
      write_files(wanted[i], load, settings);
    }
  }
  return true;
}

}  // namespace plumb::session
