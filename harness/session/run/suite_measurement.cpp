// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/base/digest.hpp"
#include "harness/base/error.hpp"
#include "harness/base/timestamp.hpp"
#include "harness/results/labels/run_labels.hpp"
#include "harness/results/labels/variant_id.hpp"
#include "harness/results/results_json.hpp"
#include "harness/session/host/host.hpp"
#include "harness/session/mlperf/mlperf_submission.hpp"
#include "harness/session/profile/run_profiles.hpp"
#include "harness/session/run/model_runs.hpp"
#include "harness/session/run/scenario_runs.hpp"
#include "harness/session/run/shared_measurement.hpp"
#include "harness/session/run/suite_run.hpp"
#include "harness/session/stored/run_session.hpp"
#include "harness/session/stored/stored_comparison.hpp"
#include "harness/session/stored/stored_records.hpp"
#include "harness/session/work/executor.hpp"
#include "harness/session/work/suite_models.hpp"
#include "harness/session/work/work_items.hpp"
#include "harness/worker/protocol/requests.hpp"

namespace plumb::session {
namespace {

/// Each process that joins a run numbers its worker processes from its own number times this.
constexpr std::int64_t kProcessesOfMember = 1'000'000;

/// Describes a run before it begins, with what its worker says of itself.
results::RunHeader describe_run(const SuiteRun::Options& options,
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
  header.environment = join_environment(read_system(), worker, options.worker.threads, stack.name);
  results::add_labels(options.labels, header.environment);
  if (has_micro_batch(options.wanted.modes)) {
    results::add_division_rule(options.wanted.division, header.environment);
  }
  if (options.profiled == RunProfiles::When::kAlways) {
    if (!header.environment.facts.contains(worker::kSamplingFact)) {
      throw Error(Error::Kind::kUser,
                  fmt::format("workers of the backend '{}' cannot be sampled: leave out --profile "
                              "always",
                              header.backend));
    }
    results::add_mark(results::kSampledMark, header.environment);
  }
  header.shard = options.shard;
  header.command = options.command;
  return header;
}

/// Source of all items of a list, in its order.
class WorkList final : public WorkSource {
 public:
  explicit WorkList(std::vector<WorkSource::Item> items) : items_(std::move(items)) {}

  [[nodiscard]] const std::vector<WorkSource::Item>& items() const override { return items_; }
  [[nodiscard]] std::optional<WorkSource::Item> next() override {
    return next_ < items_.size() ? std::optional(items_[next_++]) : std::nullopt;
  }

 private:
  std::vector<WorkSource::Item> items_;
  std::size_t next_ = 0;
};

/// One run of the suite on one stack.
class SuiteMeasurement {
 public:
  SuiteMeasurement(const SessionContext& context,
                   const SuiteRun::Options& options,
                   const suite::ResolvedSuite& suite,
                   std::span<const PlannedModel> models)
      : SuiteMeasurement(context, options, suite, models, worker_options(options.worker)) {}

  /// Runs to the end or until stopped.
  SuiteRun execute() {
    if (!options_.join.name.empty()) {
      return execute_shared();
    }
    const WorkSource::Shard shard =
        options_.shard.empty() ? WorkSource::Shard{} : parse_shard(options_.shard);
    begin();
    const Seconds start = steady_time();
    std::vector<WorkSource::Item> items = wanted_items(shard);
    const std::size_t wanted = items.size();
    items = without_measured(std::move(items), context_.store.measurements(session_.id()));
    items = reuse_rows(context_.store, session_, suite_, std::move(items));
    calibrate_run(context_.store, session_, suite_.reuse, executor_);
    const bool controlled = control_run(context_.store, session_, executor_);
    spdlog::info("run {}: {} unique layers, {} to measure, environment {}",
                 session_.id(),
                 wanted,
                 items.size(),
                 session_.header().environment.id());

    Executor::Summary summary = measure_layers(items);
    const auto stopped = [&] {
      summary.budget_ended = suite_.budget && steady_time() - start >= *suite_.budget;
      return summary.budget_ended || is_stopped();
    };
    ModelRuns runs(context_,
                   executor_,
                   session_.id(),
                   suite_,
                   models_,
                   models_of_shard(models_, shard),
                   options_.wanted);
    std::optional<RunProfiles::Timed> timed;
    if (options_.profiled == RunProfiles::When::kAlways) {
      runs.sample(timed.emplace(context_, session_.id(), executor_.options().worker, models_));
    }
    if (summary.state == results::RunState::kFinished &&
        !execute_end_to_end(runs, shard, start, stopped)) {
      summary.state = results::RunState::kInterrupted;
    }
    if (timed) {
      put_profiling(
          context_.store, session_.id(), timed->store(models_of_shard(models_, shard).size()));
    }
    const bool all_measured = summary.state == results::RunState::kFinished || repetitions_cut_;
    if (all_measured) {
      take_profiles(models_of_shard(models_, shard), start);
    }
    if (all_measured && options_.confirmation && !context_.stop.load()) {
      SuiteRun::SuspectConfirmation(context_,
                                    session_,
                                    executor_,
                                    suite_,
                                    models_,
                                    *options_.confirmation,
                                    options_.processes)
          .confirm(start, options_.worker.threads, runs);
    }
    if (!options_.mlperf_logs.empty()) {
      write_training_logs(context_.store, session_.header(), models_, options_.mlperf_logs);
    }
    // At the beginning and the end, the controls tell how fast the machine was during the run.
    if (controlled && !context_.stop.load()) {
      static_cast<void>(control_run(context_.store, session_, executor_));
    }
    return end(summary, items.size());
  }

 private:
  SuiteMeasurement(const SessionContext& context,
                   const SuiteRun::Options& options,
                   const suite::ResolvedSuite& suite,
                   std::span<const PlannedModel> models,
                   const worker::WorkerProcess::Options& worker)
      : context_(context),
        options_(options),
        suite_(suite),
        models_(models),
        session_(context.store, worker.stack),
        executor_(context.store, executor_options(worker), context.stop) {}

  [[nodiscard]] Executor::Options executor_options(const worker::WorkerProcess::Options& worker) {
    Executor::Options executor;
    executor.worker = worker;
    executor.worker.request_timeout = options_.row_timeout;
    if (options_.join.name.empty()) {
      executor.budget = suite_.budget;
    }
    executor.row_timeout = options_.row_timeout;
    executor.before_worker_ends = session_.watcher();
    return executor;
  }

  /// Lists the items of a shard of the suite.
  [[nodiscard]] std::vector<WorkSource::Item> wanted_items(const WorkSource::Shard& shard) const {
    if (!options_.layers) {
      return {};
    }
    std::vector<model::ListedLayer> layers = suite_.layers;
    if (has_micro_batch(options_.wanted.modes)) {
      const auto parts = list_batch_parts(models_, options_.wanted.division.policy);
      layers.insert(layers.end(), parts.begin(), parts.end());
    }
    std::vector<PlannedModel> models =
        models_in_other_forms(models_, options_.wanted.modes, options_.types);
    models.insert(models.begin(), models_.begin(), models_.end());
    return work_items(models, layers, suite_.caches, shard, suite_.selection);
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
    keep_exclusions();
  }

  void keep_exclusions() {
    if (!suite_.exclusions.empty()) {
      put_run_record(context_.store,
                     session_.id(),
                     results::kExclusionsRecord,
                     suite_.name,
                     to_json(suite_.exclusions));
    }
  }

  /// Measures a run together with other processes, until all of it is done.
  SuiteRun execute_shared() {
    const std::optional<std::int64_t> member = join();
    if (!member) {
      spdlog::info("run {} is finished", session_.id());
      SuiteRun outcome;
      outcome.run = session_.id();
      outcome.state = results::RunState::kFinished;
      return outcome;
    }
    const SharedMeasurement::LeaseKeeper keeper(
        options_.join.store_url, session_.id(), *member, options_.join.lease);
    const Seconds start = steady_time();
    Executor::Summary all;
    const std::function<bool()> stopped = [&] {
      all.budget_ended = suite_.budget && steady_time() - start >= *suite_.budget;
      return all.budget_ended || is_stopped();
    };
    std::vector<WorkSource::Item> items = wanted_items({});
    const std::size_t wanted = items.size();
    SharedMeasurement shared(
        context_, options_, suite_, models_, session_, executor_, stopped, std::move(items));
    shared.prepare();
    const bool controlled = !stopped() && control_run(context_.store, session_, executor_);
    const bool whole = shared.measure(all, [&](const std::vector<std::size_t>& models) {
      return run_loads(models, start, stopped);
    });
    if (whole && shared.measured_last()) {
      take_profiles(models_of_shard(models_, {}), start);
    }
    if (controlled && !context_.stop.load()) {
      static_cast<void>(control_run(context_.store, session_, executor_));
    }
    const bool spoilt = session_.is_spoilt(session_.id());
    if (whole && spoilt) {
      spdlog::error(
          "run {} stays unfinished: the stack or the device of another process was at fault",
          session_.id());
    }
    all.state = whole && !spoilt ? results::RunState::kFinished : results::RunState::kInterrupted;
    SuiteRun outcome = end(all, wanted);
    outcome.measured_last = outcome.state == results::RunState::kFinished && shared.measured_last();
    return outcome;
  }

  /// Joins the run, or begins it. Absent: it is finished.
  std::optional<std::int64_t> join() {
    results::RunHeader header = describe_run(
        options_, suite_, models_, executor_.options().worker.stack, executor_.describe());
    const std::string boot = header.environment.facts.at("boot.id");
    const std::string host = measuring_host(header.environment);
    const std::optional<std::int64_t> member = session_.join(
        options_.join.name, kPreparationItem, host, options_.join.lease, std::move(header));
    if (member) {
      executor_.number_processes_after(*member * kProcessesOfMember);
      executor_.name_host(host);
      put_run_record(context_.store,
                     session_.id(),
                     results::kHostRecord,
                     host,
                     nlohmann::json{{"boot", boot}}.dump());
      keep_exclusions();
      spdlog::info("run {}: joined as process {} on {}; others join with --join {}",
                   session_.id(),
                   *member,
                   host,
                   options_.join.name);
    }
    return member;
  }

  /// Ends the run. Its rows count only if neither stack nor device was at fault.
  SuiteRun end(const Executor::Summary& summary, std::size_t wanted) {
    SuiteRun outcome;
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
      spdlog::warn("{}: {} of {} layers are measured and stored; `{}` continues from here",
                   summary.budget_ended ? "the budget ended" : "interrupted",
                   summary.measured,
                   wanted,
                   options_.join.name.empty() ? "--resume" : "--join " + options_.join.name);
    }
    if (summary.crashes + summary.timeouts > 0) {
      spdlog::warn("{} crashes and {} time-outs of workers are recorded in their layers' rows",
                   summary.crashes,
                   summary.timeouts);
    }
    return outcome;
  }

  Executor::Summary measure_layers(const std::vector<WorkSource::Item>& items) {
    ProgressDisplay::Stage stage(context_.progress);
    const auto unconfirmed = resumed_ ? unconfirmed_keys(context_.store, session_.id(), 1)
                                      : std::vector<WorkSource::Confirmation>{};
    WorkList list(items);
    return executor_.execute(
        session_.id(), list, unconfirmed, [&](const ProgressDisplay::Progress& each) {
          stage.show(each);
        });
  }

  /// Executes each model end to end, and measures layers and models in further processes. Then runs
  /// the models' scenarios. Returns false if the user, the budget or a fault of the device cut
  /// that.
  bool execute_end_to_end(ModelRuns& runs,
                          const WorkSource::Shard& shard,
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
    return run_loads(loads_of_shard(shard), start, stopped);
  }

  /// Profiles models, by index, in a pass that takes a small part of the run's time.
  void take_profiles(std::vector<std::size_t> chosen, Seconds start) {
    if (!options_.models || options_.profiled != RunProfiles::When::kPass || is_stopped()) {
      return;
    }
    RunProfiles::Record record;
    if (session_.header().environment.facts.contains(worker::kSamplingFact)) {
      executor_.end_worker();
      const Seconds elapsed = steady_time() - start;
      record = RunProfiles(context_,
                           session_.id(),
                           {executor_.options().worker, executor_.longest_start()},
                           suite_,
                           models_,
                           options_.wanted)
                   .take(std::move(chosen), options_.profile_budget.value_or(kPassShare * elapsed));
      spdlog::info("profiles: {} of {} models, in {:.1f} s of {:.0f} s{}",
                   record.profiled,
                   record.models,
                   record.spent.count(),
                   (steady_time() - start).count(),
                   record.reason.empty() ? "" : ": " + record.reason);
    } else {
      record.models = chosen.size();
      record.reason = fmt::format("unsupported: workers of the backend '{}' cannot be sampled",
                                  session_.header().backend);
    }
    put_profiling(context_.store, session_.id(), record);
  }

  /// Lists the models of a shard by index.
  [[nodiscard]] std::vector<std::size_t> loads_of_shard(const WorkSource::Shard& shard) const {
    std::vector<std::size_t> chosen;
    for (std::size_t i = shard.index - 1; i < models_.size(); i += shard.count) {
      chosen.push_back(i);
    }
    return chosen;
  }

  /// Runs the scenarios of some models. Returns false if `stopped` or the user ended that.
  bool run_loads(const std::vector<std::size_t>& chosen,
                 Seconds start,
                 const std::function<bool()>& stopped) {
    if (!options_.loads) {
      return true;
    }
    const auto left = [this, start]() -> std::optional<Seconds> {
      if (!suite_.budget) {
        return std::nullopt;
      }
      return std::max(*suite_.budget - (steady_time() - start), Seconds(0.0));
    };
    return execute_loads(
        context_, executor_, session_.header(), suite_, models_, chosen, options_, left, stopped);
  }

  /// Measures in one more fresh process what fewer than `processes` of them have confirmed. Returns
  /// false if stopped.
  bool repeat_layers(std::size_t processes, const std::function<bool()>& stopped) {
    std::vector<WorkSource::Confirmation> keys =
        unconfirmed_keys(context_.store, session_.id(), processes);
    shuffle_for(session_.id(), processes, keys);
    ProgressDisplay::Stage stage(context_.progress);
    return executor_.repeat(
        session_.id(), keys, stopped, [&](const ProgressDisplay::Progress& each) {
          stage.show(each);
        });
  }

  const SessionContext& context_;
  const SuiteRun::Options& options_;
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
                   const SuiteRun::Options& options,
                   const suite::ResolvedSuite& suite,
                   std::span<const PlannedModel> models) {
  const worker::WorkerProcess::Options worker = worker_options(options.worker);
  results::RunRecord candidate;
  candidate.header =
      describe_run(options, suite, models, worker.stack, worker::WorkerProcess(worker).describe());
  check_alike(baseline, candidate, varied);
}

SuiteRun run_suite(const SessionContext& context,
                   const SuiteRun::Options& options,
                   const suite::ResolvedSuite& suite,
                   std::span<const PlannedModel> models) {
  return SuiteMeasurement(context, options, suite, models).execute();
}

}  // namespace plumb::session
