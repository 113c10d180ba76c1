// SPDX-License-Identifier: Apache-2.0
#include "harness/session/run/suite_run.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "harness/base/digest.hpp"
#include "harness/base/error.hpp"
#include "harness/base/timestamp.hpp"
#include "harness/results/division/divided_variant.hpp"
#include "harness/results/results_json.hpp"
#include "harness/session/host/system_facts.hpp"
#include "harness/session/host/worker_choice.hpp"
#include "harness/session/run/model_runs.hpp"
#include "harness/session/run/scenario_runs.hpp"
#include "harness/session/stored/run_record.hpp"
#include "harness/session/stored/run_session.hpp"
#include "harness/session/stored/stored_comparison.hpp"
#include "harness/session/work/executor.hpp"
#include "harness/session/work/random_order.hpp"
#include "harness/session/work/suite_models.hpp"

namespace plumb::session {
namespace {

std::optional<Timestamp> oldest_reusable(const suite::ReusePolicy& policy) {
  if (policy.kind == suite::ReusePolicy::Kind::kMaxAge) {
    return current_time() - std::chrono::duration_cast<std::chrono::microseconds>(policy.max_age);
  }
  return std::nullopt;
}

/// Describes a run before it begins, with what its worker says of itself.
results::RunHeader describe_run(const SuiteRunOptions& options,
                                const suite::ResolvedSuite& suite,
                                std::span<const PlannedModel> models,
                                const worker::Stack& stack,
                                const results::Environment& worker) {
  results::RunHeader header;
  header.suite = suite.name;
  header.resolved_suite = suite_for_store(suite, models);
  header.suite_hash = sha256(header.resolved_suite);
  header.backend = stack.backend;
  header.stack = stack.name;
  header.environment = join_environment(read_system(), worker, options.threads, stack.name);
  results::add_labels(options.labels, header.environment);
  if (has_micro_batch(options.modes)) {
    results::add_workspace_cap(options.workspace_cap, header.environment);
  }
  header.shard = options.shard;
  header.command = options.command;
  return header;
}

/// One run of the suite on one stack.
class SuiteRun {
 public:
  SuiteRun(const SessionContext& context,
           const SuiteRunOptions& options,
           const suite::ResolvedSuite& suite,
           std::span<const PlannedModel> models)
      : SuiteRun(context,
                 options,
                 suite,
                 models,
                 worker_options(options.stack, options.threads, options.device)) {}

  /// Runs to the end or until stopped.
  SuiteRunOutcome execute() {
    const Shard shard = options_.shard.empty() ? Shard{} : parse_shard(options_.shard);
    begin();
    const Seconds start = steady_time();
    std::vector<WorkItem> items;
    if (options_.layers) {
      std::vector<suite::ResolvedSuite::LayerEntry> layers = suite_.layers;
      if (has_micro_batch(options_.modes)) {
        const auto parts = list_batch_parts(models_);
        layers.insert(layers.end(), parts.begin(), parts.end());
      }
      items = work_items(models_, layers, suite_.caches, shard, suite_.selection);
    }
    const std::size_t wanted = items.size();
    items = without_measured(std::move(items), context_.store.measurements(session_.id()));
    items = reuse(std::move(items));
    calibrate();
    const bool controlled = control();
    spdlog::info("run {}: {} unique layers, {} to measure, environment {}",
                 session_.id(),
                 wanted,
                 items.size(),
                 session_.header().environment.id());

    ExecutionSummary summary = measure_layers(items);
    const auto stopped = [&] {
      summary.budget_ended = suite_.budget && steady_time() - start >= *suite_.budget;
      return summary.budget_ended || is_stopped();
    };
    ModelRuns runs(context_,
                   executor_,
                   session_.id(),
                   suite_,
                   models_,
                   shard,
                   {options_.modes, options_.workspace_cap});
    if (summary.state == results::RunState::kFinished &&
        !execute_end_to_end(runs, shard, start, stopped)) {
      summary.state = results::RunState::kInterrupted;
    }
    const bool all_measured = summary.state == results::RunState::kFinished || repetitions_cut_;
    if (all_measured && options_.confirmation && !context_.stop.load()) {
      SuspectConfirmation(context_,
                          session_,
                          executor_,
                          suite_,
                          models_,
                          *options_.confirmation,
                          options_.processes)
          .confirm(start, options_.threads, runs);
    }
    // At the beginning and the end, the controls tell how fast the machine was during the run.
    if (controlled && !context_.stop.load()) {
      static_cast<void>(control());
    }
    return end(summary, items.size());
  }

 private:
  SuiteRun(const SessionContext& context,
           const SuiteRunOptions& options,
           const suite::ResolvedSuite& suite,
           std::span<const PlannedModel> models,
           const worker::WorkerOptions& worker)
      : context_(context),
        options_(options),
        suite_(suite),
        models_(models),
        session_(context.store, worker.stack),
        executor_(context.store, executor_options(worker), context.stop) {}

  [[nodiscard]] ExecutorOptions executor_options(const worker::WorkerOptions& worker) {
    ExecutorOptions executor;
    executor.worker = worker;
    executor.worker.request_timeout = options_.row_timeout;
    executor.budget = suite_.budget;
    executor.row_timeout = options_.row_timeout;
    executor.before_worker_ends = session_.watcher();
    return executor;
  }

  [[nodiscard]] bool is_stopped() const {
    return context_.stop.load() || !executor_.device_fault().empty();
  }

  /// Begins a new run, or resumes an unfinished one.
  void begin() {
    results::RunHeader header = describe_run(
        options_, suite_, models_, executor_.options().worker.stack, executor_.describe());
    header.started = current_time();
    resumed_ = options_.resume && session_.resume(header);
    if (resumed_) {
      executor_.number_processes_after(last_process(context_.store, session_.id()));
    } else {
      session_.begin(std::move(header));
    }
    if (!suite_.exclusions.empty()) {
      put_run_record(context_.store,
                     session_.id(),
                     results::kExclusionsRecord,
                     suite_.name,
                     to_json(suite_.exclusions));
    }
  }

  /// Ends the run. Its rows count only if neither stack nor device was at fault.
  SuiteRunOutcome end(const ExecutionSummary& summary, std::size_t wanted) {
    SuiteRunOutcome outcome;
    outcome.run = session_.id();
    outcome.device_fault = executor_.device_fault();
    if (!outcome.device_fault.empty()) {
      spdlog::error(
          "{}: the measurements of run {} are not reliable, so the run stays unfinished; check the "
          "device, then measure again",
          outcome.device_fault,
          session_.id());
      session_.keep_device_fault(outcome.device_fault);
    }
    executor_.end_worker();
    outcome.stack_faults = session_.stack_faults();
    for (const std::string& fault : outcome.stack_faults) {
      spdlog::error("{}", fault);
    }
    if (!outcome.stack_faults.empty()) {
      spdlog::error(
          "the rows of run {} come from more than one stack, so the run stays unfinished; measure "
          "again",
          session_.id());
      session_.keep_stack_faults(outcome.stack_faults);
    }
    const bool valid = outcome.device_fault.empty() && outcome.stack_faults.empty();
    outcome.state = valid ? summary.state : results::RunState::kInterrupted;
    outcome.budget_ended = valid && summary.budget_ended;
    session_.finish(outcome.state);
    if (valid && summary.state == results::RunState::kInterrupted) {
      spdlog::warn("{}: {} of {} layers are measured and stored; `--resume` continues from here",
                   summary.budget_ended ? "the budget ended" : "interrupted",
                   summary.measured,
                   wanted);
    }
    if (summary.crashes + summary.timeouts > 0) {
      spdlog::warn("{} crashes and {} time-outs of workers are recorded in their layers' rows",
                   summary.crashes,
                   summary.timeouts);
    }
    return outcome;
  }

  ExecutionSummary measure_layers(const std::vector<WorkItem>& items) {
    ProgressStage stage(context_.progress);
    const auto unconfirmed =
        resumed_ ? unconfirmed_keys(context_.store, session_.id(), 1) : std::vector<Confirmation>{};
    return executor_.execute(
        session_.id(), items, unconfirmed, [&](const Progress& each) { stage.show(each); });
  }

  /// Executes each model end to end, and measures layers and models in further processes. Then runs
  /// the models' scenarios. Returns false if the user, the budget or a fault of the device cut
  /// that.
  bool execute_end_to_end(ModelRuns& runs,
                          const Shard& shard,
                          Seconds start,
                          const std::function<bool()>& stopped) {
    if (options_.models && !runs.execute(1, stopped)) {
      return false;
    }
    // Layers and models take turns, so that both are spread over the whole run.
    for (std::size_t process = 2; process <= options_.processes; ++process) {
      if ((options_.layers && !repeat_layers(process, stopped)) ||
          (options_.models && !runs.execute(process, stopped))) {
        repetitions_cut_ = !is_stopped();
        if (repetitions_cut_) {
          spdlog::warn(
              "the budget ended in process {} of {}: intervals are wider, and a gate may "
              "lack evidence",
              process,
              options_.processes);
        }
        return false;
      }
    }
    if (!options_.loads) {
      return true;
    }
    const auto left = [this, start]() -> std::optional<Seconds> {
      if (!suite_.budget) {
        return std::nullopt;
      }
      return std::max(*suite_.budget - (steady_time() - start), Seconds(0.0));
    };
    LoadLimits limits{left, options_.row_timeout, options_.mlperf_logs, options_.accuracy};
    limits.sample_count = options_.performance_sample_count;
    if (!options_.mlperf_submission.empty()) {
      limits.submission = {.folder = options_.mlperf_submission,
                           .submitter = options_.mlperf_submitter,
                           .environment = session_.header().environment,
                           .stack = session_.header().stack};
    }
    return execute_loads(context_,
                         executor_,
                         session_.id(),
                         suite_,
                         models_,
                         shard,
                         options_.modes,
                         limits,
                         stopped);
  }

  std::vector<WorkItem> reuse(std::vector<WorkItem> items) {
    if (suite_.reuse.kind == suite::ReusePolicy::Kind::kNever) {
      return items;
    }
    for (const results::CacheMode cache : suite_.caches) {
      std::vector<model::LayerKey> keys;
      for (const WorkItem& item : items) {
        if (std::find(item.caches.begin(), item.caches.end(), cache) != item.caches.end()) {
          keys.push_back(item.key);
        }
      }
      const std::vector<results::StoredMeasurement> found = context_.store.reusable(
          session_.header().environment.id(), keys, cache, oldest_reusable(suite_.reuse));
      std::vector<results::RowId> rows(found.size());
      std::transform(
          found.begin(), found.end(), rows.begin(), [](const results::StoredMeasurement& row) {
            return row.row;
          });
      context_.store.link_reused(session_.id(), rows);
      items = without_measured(std::move(items), found);
    }
    return items;
  }

  /// Measures the ceilings, unless the store has some of this environment that the policy allows.
  void calibrate() {
    const std::string environment = session_.header().environment.id();
    const auto known = context_.store.latest_calibration(environment);
    const bool may_stand = suite_.reuse.kind == suite::ReusePolicy::Kind::kAlways ||
                           (suite_.reuse.kind == suite::ReusePolicy::Kind::kMaxAge && known &&
                            known->computed >= *oldest_reusable(suite_.reuse));
    if (known && (may_stand || known->run == session_.id())) {
      return;
    }
    spdlog::info("calibrating: arithmetic peak and memory bandwidth");
    put_run_record(
        context_.store, session_.id(), "calibration", environment, to_json(executor_.calibrate()));
  }

  /// Measures the machine's controls, for comparisons over boots. Returns whether that worked.
  bool control() {
    const std::optional<results::Controls> controls = executor_.measure_controls();
    if (controls) {
      put_run_record(context_.store,
                     session_.id(),
                     results::kControlsRecord,
                     session_.header().environment.facts.at("boot.id"),
                     to_json(*controls));
    }
    return controls.has_value();
  }

  /// Measures in one more fresh process what fewer than `processes` of them have confirmed. Returns
  /// false if stopped.
  bool repeat_layers(std::size_t processes, const std::function<bool()>& stopped) {
    std::vector<Confirmation> keys = unconfirmed_keys(context_.store, session_.id(), processes);
    shuffle_for(session_.id(), processes, keys);
    ProgressStage stage(context_.progress);
    return executor_.repeat(
        session_.id(), keys, stopped, [&](const Progress& each) { stage.show(each); });
  }

  const SessionContext& context_;
  const SuiteRunOptions& options_;
  const suite::ResolvedSuite& suite_;
  std::span<const PlannedModel> models_;
  RunSession session_;  // before the executor, whose workers it watches
  Executor executor_;
  bool resumed_ = false;
  bool repetitions_cut_ = false;  ///< by the budget, after everything was measured once
};

}  // namespace

void refuse_unlike(const results::RunRecord& baseline,
                   std::span<const std::string> varied,
                   const SuiteRunOptions& options,
                   const suite::ResolvedSuite& suite,
                   std::span<const PlannedModel> models) {
  const worker::WorkerOptions worker =
      worker_options(options.stack, options.threads, options.device);
  results::RunRecord candidate;
  candidate.header =
      describe_run(options, suite, models, worker.stack, worker::WorkerProcess(worker).describe());
  check_alike(baseline, candidate, varied);
}

SuiteRunOutcome run_suite(const SessionContext& context,
                          const SuiteRunOptions& options,
                          const suite::ResolvedSuite& suite,
                          std::span<const PlannedModel> models) {
  return SuiteRun(context, options, suite, models).execute();
}

}  // namespace plumb::session
