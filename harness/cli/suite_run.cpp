// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/suite_run.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "harness/base/digest.hpp"
#include "harness/base/error.hpp"
#include "harness/base/ulid.hpp"
#include "harness/cli/model_runs.hpp"
#include "harness/cli/paired_suspects.hpp"
#include "harness/cli/progress_line.hpp"
#include "harness/cli/run_analysis.hpp"
#include "harness/cli/scenario_runs.hpp"
#include "harness/results/results_json.hpp"
#include "harness/session/executor.hpp"
#include "harness/session/random_order.hpp"
#include "harness/session/run_lock.hpp"
#include "harness/session/run_record.hpp"
#include "harness/session/stack_watch.hpp"
#include "harness/session/system_facts.hpp"
#include "harness/session/user_paths.hpp"
#include "harness/session/worker_choice.hpp"

namespace plumb {
namespace {

std::optional<Timestamp> oldest_reusable(const ReusePolicy& policy) {
  if (policy.kind == ReusePolicy::Kind::kMaxAge) {
    return current_time() - std::chrono::duration_cast<std::chrono::microseconds>(policy.max_age);
  }
  return std::nullopt;
}

constexpr Seconds kMinConfirmation{45.0};
constexpr double kConfirmationShare = 0.25;  // of a run's time

Seconds now() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

/// One run of the suite on one stack.
class SuiteRun {
 public:
  SuiteRun(CommandContext& context,
           const RunOptions& options,
           const ResolvedSuite& suite,
           const std::vector<PlannedModel>& models,
           Store& store,
           const std::string& stack)
      : context_(context),
        options_(options),
        suite_(suite),
        models_(models),
        store_(store),
        executor_(store, executor_options(stack), context.stop) {
    for (const std::string& mode : options.modes) {
      modes_.push_back(execution_mode_from(mode));
    }
    header_.suite = suite.name;
    header_.resolved_suite = suite_for_store(suite, models);
    header_.suite_hash = sha256(header_.resolved_suite);
    header_.backend = executor_backend_;
    header_.stack = stack;
    header_.environment =
        join_environment(read_system(), executor_.describe(), options.threads, stack);
    header_.shard = options.shard;
    header_.command = {"plumb", "run", options.suite};
    header_.started = current_time();
  }

  /// Runs to the end or until stopped, measures suspects against a baseline again, and returns the
  /// id.
  RunId execute(const BaselineCheck& baseline) {
    const RunLock lock = begin();
    const Shard shard = header_.shard.empty() ? Shard{} : parse_shard(header_.shard);
    const Seconds start = now();
    std::vector<WorkItem> items;
    if (options_.only != "models") {
      items = work_items(models_, suite_.layers, suite_.caches, shard);
    }
    const std::size_t wanted = items.size();
    items = without_measured(std::move(items), store_.measurements(header_.id));
    items = reuse(std::move(items));
    calibrate();
    const bool controlled = control();
    spdlog::info("run {}: {} unique layers, {} to measure, environment {}",
                 header_.id,
                 wanted,
                 items.size(),
                 header_.environment.id());

    ExecutionSummary summary;
    {
      ProgressLine line;
      const auto unconfirmed = resumed_ ? own_unconfirmed() : std::vector<Confirmation>{};
      summary = executor_.execute(
          header_.id, items, unconfirmed, [&](const Progress& p) { line.show(p); });
    }
    const auto stopped = [&] {
      summary.budget_ended = suite_.budget && now() - start >= *suite_.budget;
      return summary.budget_ended || context_.stop.load() || !executor_.device_fault().empty();
    };
    if (summary.state == RunState::kFinished && !execute_end_to_end(shard, start, stopped)) {
      summary.state = RunState::kInterrupted;
    }
    if (summary.state == RunState::kFinished && !context_.stop.load()) {
      confirm(baseline, shard, start);
    }
    // At the beginning and the end, the controls tell how fast the machine was during the run.
    if (controlled && !context_.stop.load()) {
      static_cast<void>(control());
    }
    const bool sound = device_is_sound();
    const bool valid = stack_is_unchanged() && sound;
    store_.finish_run(header_.id, valid ? summary.state : RunState::kInterrupted, current_time());
    if (valid && summary.state == RunState::kInterrupted) {
      spdlog::warn("{}: {} of {} layers measured and kept; `--resume` goes on from here",
                   summary.budget_ended ? "the budget ended" : "interrupted",
                   summary.measured,
                   items.size());
    }
    if (summary.crashes + summary.timeouts > 0) {
      spdlog::warn("{} crashes and {} time-outs of workers are recorded in their layers' rows",
                   summary.crashes,
                   summary.timeouts);
    }
    return header_.id;
  }

 private:
  /// Returns whether the stack stayed the same while it was measured. Logs and records what
  /// changed.
  bool stack_is_unchanged() {
    executor_.end_worker();
    const std::vector<std::string> faults = watch_.faults();
    for (const std::string& fault : faults) {
      spdlog::error("{}", fault);
    }
    if (!faults.empty()) {
      spdlog::error(
          "the rows of run {} are of no one stack: they are kept, the run stays "
          "unfinished; measure again",
          header_.id);
      put_run_record(
          store_, header_.id, "stack_change", header_.stack, nlohmann::json(faults).dump());
      context_.exit_status = static_cast<int>(Error::Kind::kEnvironment);
    }
    return faults.empty();
  }

  /// Returns whether the device had no fault. Logs and records a fault, which invalidates all rows.
  bool device_is_sound() {
    const std::string& fault = executor_.device_fault();
    if (fault.empty()) {
      return true;
    }
    spdlog::error(
        "{}: nothing measured in run {} can be believed: it is kept and stays unfinished; "
        "look after the device, then measure again",
        fault,
        header_.id);
    put_run_record(store_, header_.id, kDeviceFault, header_.stack, nlohmann::json(fault).dump());
    context_.exit_status = static_cast<int>(Error::Kind::kEnvironment);
    return false;
  }

  /// Executes each model end to end, and measures layers and models in further processes. Then runs
  /// the models' scenarios. If scenarios were asked for, models are not executed by themselves.
  /// Returns false if the run is interrupted.
  bool execute_end_to_end(const Shard& shard, Seconds start, const std::function<bool()>& stopped) {
    ModelRuns models(executor_, store_, header_.id, suite_, models_, shard, modes_);
    const bool executes = options_.only != "layers" && options_.loads.scenarios.empty();
    if (executes && !models.execute(1, stopped)) {
      return false;
    }
    // Layers and models take turns, so that both are spread over the whole run.
    for (std::size_t process = 2; process <= options_.processes; ++process) {
      if ((options_.only != "models" && !repeat_layers(process, stopped)) ||
          (executes && !models.execute(process, stopped))) {
        if (context_.stop.load() || !executor_.device_fault().empty()) {
          return false;
        }
        spdlog::warn(
            "the budget ended in process {} of {}: intervals are wider, and a gate may "
            "lack evidence",
            process,
            options_.processes);
        break;
      }
    }
    if (options_.only == "layers") {
      return true;
    }
    const auto left = [this, start]() -> std::optional<Seconds> {
      if (!suite_.budget) {
        return std::nullopt;
      }
      return std::max(*suite_.budget - (now() - start), Seconds(0.0));
    };
    std::filesystem::path logs = options_.loads.mlperf_logs;
    if (!logs.empty() && options_.stacks.size() > 1) {
      logs /= header_.stack;
    }
    LoadLimits limits{left, parse_duration(options_.row_timeout), logs, options_.loads.accuracy};
    limits.sample_count = options_.loads.performance_sample_count;
    if (!options_.loads.mlperf_submission.empty()) {
      limits.submission = {.folder = options_.loads.mlperf_submission,
                           .submitter = options_.loads.mlperf_submitter,
                           .environment = header_.environment,
                           .stack = header_.stack};
    }
    return execute_loads(
        executor_, store_, header_.id, suite_, models_, shard, modes_, limits, stopped);
  }

  ExecutorOptions executor_options(const std::string& stack) {
    ExecutorOptions executor;
    executor.worker = worker_options(stack, options_.threads);
    executor_backend_ = executor.worker.stack.backend;
    executor.budget = suite_.budget;
    executor.row_timeout = parse_duration(options_.row_timeout);
    watch_ = StackWatch(executor.worker.stack);
    executor.before_worker_ends = [this](int pid) { watch_.look(pid); };
    return executor;
  }

  /// Begins a new run, or resumes the newest unfinished one of the same suite, environment and
  /// shard. A run whose stack changed or whose device erred is not resumed.
  RunLock begin() {
    const std::filesystem::path locks = data_folder() / "locks";
    if (options_.resume) {
      const std::string environment = header_.environment.id();
      for (const RunRecord& run : store_.runs()) {
        const RunHeader& old = run.header;
        if (run.state == RunState::kFinished || old.suite_hash != header_.suite_hash ||
            old.shard != header_.shard || old.environment.id() != environment ||
            !store_.derived(old.id, "stack_change").empty() ||
            !store_.derived(old.id, kDeviceFault).empty()) {
          continue;
        }
        if (std::optional<RunLock> lock = RunLock::try_acquire(locks, old.id)) {
          spdlog::info("resuming run {} of {}", old.id, to_text(old.started));
          header_.id = old.id;
          resumed_ = true;
          executor_.number_processes_after(last_process());
          return std::move(*lock);
        }
      }
    }
    header_.id = new_ulid();
    std::optional<RunLock> lock = RunLock::try_acquire(locks, header_.id);
    PLUMB_CHECK(lock.has_value());
    store_.begin_run(header_);
    return std::move(*lock);
  }

  std::vector<WorkItem> reuse(std::vector<WorkItem> items) {
    if (suite_.reuse.kind == ReusePolicy::Kind::kNever) {
      return items;
    }
    for (const CacheMode cache : suite_.caches) {
      std::vector<LayerKey> keys;
      for (const WorkItem& item : items) {
        if (std::find(item.caches.begin(), item.caches.end(), cache) != item.caches.end()) {
          keys.push_back(item.key);
        }
      }
      const std::vector<StoredMeasurement> found =
          store_.reusable(header_.environment.id(), keys, cache, oldest_reusable(suite_.reuse));
      std::vector<RowId> rows(found.size());
      std::transform(found.begin(), found.end(), rows.begin(), [](const StoredMeasurement& row) {
        return row.row;
      });
      store_.link_reused(header_.id, rows);
      items = without_measured(std::move(items), found);
    }
    return items;
  }

  /// Measures the ceilings, unless the store has some of this environment that the policy allows.
  void calibrate() {
    const auto known = store_.latest_calibration(header_.environment.id());
    const bool may_stand = suite_.reuse.kind == ReusePolicy::Kind::kAlways ||
                           (suite_.reuse.kind == ReusePolicy::Kind::kMaxAge && known &&
                            known->computed >= *oldest_reusable(suite_.reuse));
    if (known && (may_stand || known->run == header_.id)) {
      return;
    }
    spdlog::info("calibrating: arithmetic peak and memory bandwidth");
    put_run_record(store_,
                   header_.id,
                   "calibration",
                   header_.environment.id(),
                   to_json(executor_.calibrate()));
  }

  /// Measures the machine's controls, for comparisons over boots. Returns whether that worked.
  bool control() {
    const std::optional<Controls> controls = executor_.measure_controls();
    if (controls) {
      put_run_record(store_,
                     header_.id,
                     kControlsRecord,
                     header_.environment.facts.at("boot.id"),
                     to_json(*controls));
    }
    return controls.has_value();
  }

  [[nodiscard]] std::vector<Confirmation> own_unconfirmed(std::size_t processes = 1) const {
    std::vector<StoredMeasurement> rows = store_.measurements(header_.id);
    std::erase_if(rows, [](const StoredMeasurement& row) { return row.reused; });
    ConfirmationRule rule = ExecutorOptions().confirmation;
    rule.processes = processes;
    return confirmations(rows, rule);
  }

  /// Measures suspects again before they count as slower than the baseline. If the baseline's stack
  /// is at hand, that is done in pairs with it, else in fresh processes.
  void confirm(const BaselineCheck& baseline, const Shard& shard, Seconds start) {
    if (baseline.confirming_processes() > 0 && !confirm_in_pairs(baseline, start)) {
      confirm_alone(baseline, shard, start);
    }
  }

  /// Measures suspects in pairs with the baseline's stack. Returns false if that is not at hand. No
  /// pair begins after a quarter of the run's time, or kMinConfirmation if that is longer.
  bool confirm_in_pairs(const BaselineCheck& baseline, Seconds start) {
    const RunHeader before = baseline.header(store_);
    if (!is_at_hand(before, options_.threads)) {
      return false;
    }
    const Suspects suspects = baseline.suspects(store_, header_.id, SuspectRule::kSlower);
    if (suspects.empty()) {
      return true;
    }
    spdlog::info("{} may be slower: {} models and {} layers are measured in pairs with {}",
                 suspects.series.size(),
                 suspects.subjects().size(),
                 suspects.layers.size(),
                 before.stack);
    executor_.end_worker();
    PairedSuspects pairs(store_, suite_, models_, suspects, context_.stop);
    pairs.row_timeout = parse_duration(options_.row_timeout);
    pairs.budget = std::max(kMinConfirmation, kConfirmationShare * (now() - start));
    PairedSide candidate{executor_.options().worker, {}, [this](int pid) { watch_.look(pid); }};
    PairedSide reference{worker_options(before.stack, options_.threads), {}};
    reference.worker.pace = candidate.worker.pace;  // they run on one host
    const PairedConfirmation confirmation =
        pairs.measure(std::move(reference), std::move(candidate));
    if (!context_.stop.load()) {
      baseline.put(store_, header_.id, confirmation, suspects);
    }
    return true;
  }

  /// Measures suspects in fresh processes, which are compared with the stored baseline. After three
  /// of them, none begins once a quarter of the run's time is used.
  void confirm_alone(const BaselineCheck& baseline, const Shard& shard, Seconds start) {
    constexpr std::size_t kMinProcesses = 3;
    const std::size_t processes = baseline.confirming_processes();
    const Suspects suspects = baseline.suspects(store_, header_.id, SuspectRule::kRegressed);
    if (suspects.empty()) {
      return;
    }
    spdlog::info("{} look regressed: {} models and {} layers are measured again before it is said",
                 suspects.series.size(),
                 suspects.subjects().size(),
                 suspects.layers.size());
    const Seconds end = now() + kConfirmationShare * (now() - start);
    const auto stopped = [&] { return context_.stop.load() || !executor_.device_fault().empty(); };
    const std::int64_t last = last_process();
    // More processes than there will be: no key counts as confirmed yet.
    std::vector<Confirmation> keys = own_unconfirmed(options_.processes + processes + 1);
    std::erase_if(keys,
                  [&](const Confirmation& key) { return !suspects.layers.contains(key.key); });
    ModelRuns models(executor_, store_, header_.id, suite_, models_, shard, modes_);
    for (std::size_t round = 1; round <= processes && (round <= kMinProcesses || now() < end);
         ++round) {
      const std::size_t number = options_.processes + round;
      shuffle_for(header_.id, number, keys);
      ProgressLine line;
      if (!executor_.repeat(
              header_.id, keys, stopped, [&](const Progress& each) { line.show(each); }) ||
          !models.execute_again(suspects.subjects(), number, stopped)) {
        return;
      }
    }
    baseline.put(store_, header_.id, last, suspects);
  }

  /// Measures in one more fresh process what fewer than `processes` of them have confirmed. Returns
  /// false if stopped.
  bool repeat_layers(std::size_t processes, const std::function<bool()>& stopped) {
    std::vector<Confirmation> keys = own_unconfirmed(processes);
    shuffle_for(header_.id, processes, keys);
    ProgressLine line;
    return executor_.repeat(
        header_.id, keys, stopped, [&](const Progress& progress) { line.show(progress); });
  }

  /// Returns the number of the last process that the run has results of; 0: none.
  [[nodiscard]] std::int64_t last_process() const {
    std::int64_t last = 0;
    for (const StoredMeasurement& row : store_.measurements(header_.id)) {
      last = std::max(last, row.reused ? 0 : row.measurement.process);
    }
    for (const DerivedRecord& record : store_.derived(header_.id, kExecutionRecord)) {
      last = std::max(last, execution_from_json(record.payload).row.process);
    }
    return last;
  }

  CommandContext& context_;
  const RunOptions& options_;
  const ResolvedSuite& suite_;
  const std::vector<PlannedModel>& models_;
  Store& store_;
  std::vector<ExecutionMode> modes_;
  std::string executor_backend_;
  StackWatch watch_;  // before the executor, whose workers it looks at
  Executor executor_;
  RunHeader header_;
  bool resumed_ = false;
};

}  // namespace

RunId run_on_stack(CommandContext& context,
                   const RunOptions& options,
                   const ResolvedSuite& suite,
                   const std::vector<PlannedModel>& models,
                   Store& store,
                   const std::string& stack,
                   const BaselineCheck& baseline) {
  return SuiteRun(context, options, suite, models, store, stack).execute(baseline);
}

}  // namespace plumb
