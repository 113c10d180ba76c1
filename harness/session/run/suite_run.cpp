// SPDX-License-Identifier: Apache-2.0
#include "harness/session/run/suite_run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "harness/analysis/compare/comparison_result.hpp"
#include "harness/base/digest.hpp"
#include "harness/base/error.hpp"
#include "harness/base/timestamp.hpp"
#include "harness/results/results_json.hpp"
#include "harness/session/host/host.hpp"
#include "harness/session/paired/paired_rounds.hpp"
#include "harness/session/stored/stored_comparison.hpp"
#include "harness/session/stored/stored_records.hpp"
#include "harness/session/work/suite_models.hpp"
#include "harness/session/work/work_items.hpp"
#include "harness/stacks/built/bounded_program.hpp"
#include "harness/stacks/built/build_cache.hpp"
#include "harness/suite/suite.hpp"

namespace plumb::session {
namespace {

/// Measurement of a gate's suspects in pairs of restarted processes, by the sequential rule.
class PairedSuspects {
 public:
  /// Keeps references to all arguments.
  PairedSuspects(const SessionContext& context,
                 const suite::ResolvedSuite& suite,
                 std::span<const PlannedModel> models,
                 const analysis::PairedConfirmation::Suspects& suspects)
      : context_(context), suite_(suite), models_(models), suspects_(suspects) {}

  /// Measures both sides until every suspect is decided, or the rule's last look is past. It also
  /// ends when the budget ends or the user stops. Throws Error{kEnvironment} if a worker cannot be
  /// started.
  [[nodiscard]] analysis::PairedConfirmation measure(PairedRounds::Side baseline,
                                                     PairedRounds::Side candidate) const;

  Seconds row_timeout{60.0};  ///< of silence from a worker
  Seconds budget{60.0};       ///< no round begins after it

 private:
  [[nodiscard]] PairedRounds::Work work() const;

  const SessionContext& context_;
  const suite::ResolvedSuite& suite_;
  std::span<const PlannedModel> models_;
  const analysis::PairedConfirmation::Suspects& suspects_;
};

// The run that raised the suspicion has screened already. So four pairs are enough for a look at
// the direction.
const analysis::SequentialRule::Design kDesign{{4, 8, 12}, 0.5};
// A metric is equivalent early only if that is clear: an undecided 3 % goes on to the last look.
constexpr double kModelMargin = 0.03;
constexpr double kLayerMargin = 0.05;
// A neighbour who comes during the controls alone must not cost one of the few rounds.
constexpr double kControlDrift = 0.5;
constexpr double kLevel = 0.01;  // of q, over the suspects of one kind
constexpr measure::SamplingPlan kModelSampling{.warm_up_at_most = Seconds(0.02),
                                               .budget = Seconds(0.05)};

analysis::RoundComparison::Limits limits_of_suspects() {
  analysis::RoundComparison::Limits limits;
  limits.control_drift = kControlDrift;
  limits.models.change.level = kLevel;
  limits.models.change.margin = kModelMargin;
  limits.layers.change.level = kLevel;
  limits.layers.change.margin = kLayerMargin;
  return limits;
}

/// Returns whether the stack of a stored run still is what it was. It is if a worker started on it
/// now, on this or an equal device, has the same files, settings and machine (is_same_software()).
/// Logs why not.
bool is_at_hand(const results::RunHeader& run, int threads, const std::string& device) {
  std::string why = "it differs from what the baseline was measured with";
  try {
    const results::Environment here = join_environment(
        read_system(),
        worker::WorkerProcess(worker_options({run.stack, threads, device})).describe(),
        threads,
        run.stack);
    if (analysis::is_same_software(run.environment, here)) {
      return true;
    }
  } catch (const Error& error) {
    why = error.what();
  } catch (const worker::WorkerDied& death) {
    why = death.outcome().reason;
  }
  spdlog::info(
      "the baseline's stack '{}' is not available: {}; fresh processes are compared with the "
      "stored baseline",
      run.stack,
      why);
  return false;
}

PairedRounds::Work PairedSuspects::work() const {
  PairedRounds::Work work;
  work.layers.assign(suspects_.layers.begin(), suspects_.layers.end());
  for (std::size_t i = 0; i < models_.size(); ++i) {
    std::string subject = analysis::subject_of(models_[i].instance);
    std::vector<worker::ModeRequest> modes;
    for (const auto& [model, mode] : suspects_.models) {
      if (model == subject) {
        modes.push_back({results::execution_mode_from(mode), {}, {}});
      }
    }
    if (!modes.empty()) {
      worker::ExecuteRequest request = make_execute_request(context_.models, suite_.models[i]);
      request.modes = std::move(modes);
      request.profile = false;
      request.sampling = kModelSampling;
      work.models.push_back({std::move(subject), std::move(request)});
    }
  }
  return work;
}

analysis::PairedConfirmation PairedSuspects::measure(PairedRounds::Side baseline,
                                                     PairedRounds::Side candidate) const {
  PairedRounds rounds(
      context_.store, std::move(baseline), std::move(candidate), row_timeout, context_.stop);
  ProgressDisplay::Stage stage(context_.progress);
  const analysis::SequentialRule rule(kDesign);
  std::set<results::ModelMode> cleared;
  PairedRounds::Sequence::Judge judge{
      rule.looks(), [&](std::span<const results::PairedRound> measured) {
        analysis::RoundComparison comparison =
            analysis::compare_rounds(measured, rule, limits_of_suspects());
        if (comparison.valid == analysis::kGlancePairs) {
          cleared = analysis::cleared_at_glance(suspects_, comparison);
        }
        for (const results::ModelMode& mode : cleared) {
          comparison.open_models.erase(mode);
        }
        return comparison;
      }};
  judge.looks.insert(judge.looks.begin(), analysis::kGlancePairs);
  PairedRounds::Sequence measured = measure_in_sequence(
      rounds, work(), judge, budget, [&](const ProgressDisplay::Progress& progress) {
        stage.show(progress);
      });
  for (analysis::RoundComparison::Metric& metric : measured.comparison.models) {
    if (cleared.contains({metric.subject, metric.mode})) {
      metric.decided_at = analysis::kGlancePairs;
    }
  }
  analysis::PairedConfirmation confirmation;
  confirmation.rounds = measured.rounds.size();
  confirmation.valid = measured.comparison.valid;
  confirmation.drifted = measured.comparison.drift.moved;
  for (std::vector<analysis::RoundComparison::Metric>* const family :
       {&measured.comparison.models, &measured.comparison.layers}) {
    std::move(family->begin(), family->end(), std::back_inserter(confirmation.metrics));
  }
  return confirmation;
}

constexpr Seconds kMinConfirmation{45.0};
constexpr double kConfirmationShare = 0.25;  // of a run's time
constexpr std::size_t kMinFreshProcesses = 3;

}  // namespace

std::vector<WorkSource::Confirmation> unconfirmed_keys(const store::Store& store,
                                                       const results::RunId& run,
                                                       std::size_t processes) {
  std::vector<results::StoredMeasurement> rows = store.measurements(run);
  std::erase_if(rows, [](const results::StoredMeasurement& row) { return row.reused; });
  WorkSource::Confirmation::Rule rule = Executor::Options().confirmation;
  rule.processes = processes;
  return confirmations(rows, rule);
}

std::int64_t last_process(const store::Store& store, const results::RunId& run) {
  std::int64_t last = 0;
  for (const results::StoredMeasurement& row : store.measurements(run)) {
    last = std::max(last, row.reused ? 0 : row.measurement.process);
  }
  for (const char* const kind : {results::kExecutionRecord, results::kAlternationRecord}) {
    for (const results::DerivedRecord& record : store.derived(run, kind)) {
      last = std::max(last, results::execution_from_json(record.payload).row.process);
    }
  }
  return last;
}

void SuiteRun::SuspectConfirmation::confirm(Seconds start, int threads, ModelRuns& runs) {
  if (!confirm_in_pairs(start, threads)) {
    confirm_alone(start, runs);
  }
}

/// Finds what the run must confirm. Empty if the runs are unlike, which their comparison reports.
analysis::PairedConfirmation::Suspects SuiteRun::SuspectConfirmation::suspects(
    analysis::PairedConfirmation::Suspects::Rule rule) const {
  try {
    return stored_suspects(
        {context_.store, context_.models}, plan_.baseline, session_.id(), plan_.varied, rule);
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::kRefused) {
      throw;
    }
    return {};
  }
}

/// Measures suspects in pairs with the baseline's stack. Returns false if that is not at hand. No
/// pair begins after a quarter of the run's time, or kMinConfirmation if that is longer.
bool SuiteRun::SuspectConfirmation::confirm_in_pairs(Seconds start, int threads) {
  const results::RunHeader before = context_.store.find_run(plan_.baseline).header;
  const std::string& device = executor_.options().worker.setup.device;
  if (!is_at_hand(before, threads, device)) {
    return false;
  }
  const analysis::PairedConfirmation::Suspects slower =
      suspects(analysis::PairedConfirmation::Suspects::Rule::kSlower);
  if (slower.empty()) {
    return true;
  }
  spdlog::info("{} may be slower: {} models and {} layers are measured in pairs with {}",
               slower.series.size(),
               slower.subjects().size(),
               slower.layers.size(),
               before.stack);
  executor_.end_worker();
  PairedSuspects pairs(context_, suite_, models_, slower);
  pairs.row_timeout = executor_.options().row_timeout;
  pairs.budget = std::max(kMinConfirmation, kConfirmationShare * (steady_time() - start));
  PairedRounds::Side candidate{executor_.options().worker, {}, session_.watcher()};
  PairedRounds::Side reference{worker_options({before.stack, threads, device}), {}};
  reference.worker.pace = candidate.worker.pace;  // they run on one host
  analysis::PairedConfirmation confirmation =
      pairs.measure(std::move(reference), std::move(candidate));
  if (!context_.stop.load()) {
    put_confirmation(context_.store,
                     plan_.baseline,
                     session_.id(),
                     {.suspects = slower, .pairs = std::move(confirmation)});
  }
  return true;
}

/// Measures suspects in fresh processes, which are compared with the stored baseline. After three
/// of them, none begins once a quarter of the run's time is used.
void SuiteRun::SuspectConfirmation::confirm_alone(Seconds start, ModelRuns& runs) {
  const analysis::PairedConfirmation::Suspects regressed =
      suspects(analysis::PairedConfirmation::Suspects::Rule::kRegressed);
  if (regressed.empty()) {
    return;
  }
  spdlog::info(
      "{} look regressed: {} models and {} layers are measured again before this is reported",
      regressed.series.size(),
      regressed.subjects().size(),
      regressed.layers.size());
  const Seconds end = steady_time() + kConfirmationShare * (steady_time() - start);
  const auto stopped = [&] { return context_.stop.load() || !executor_.device_fault().empty(); };
  const std::int64_t last = last_process(context_.store, session_.id());
  // More processes than there will be: no key counts as confirmed yet.
  std::vector<WorkSource::Confirmation> keys =
      unconfirmed_keys(context_.store, session_.id(), processes_ + plan_.processes + 1);
  std::erase_if(keys, [&](const WorkSource::Confirmation& key) {
    return !regressed.layers.contains(key.key);
  });
  for (std::size_t round = 1;
       round <= plan_.processes && (round <= kMinFreshProcesses || steady_time() < end);
       ++round) {
    const std::size_t number = processes_ + round;
    shuffle_for(session_.id(), number, keys);
    ProgressDisplay::Stage stage(context_.progress);
    if (!executor_.repeat(session_.id(),
                          keys,
                          stopped,
                          [&](const ProgressDisplay::Progress& each) { stage.show(each); }) ||
        !runs.execute_again(regressed.subjects(), number, stopped)) {
      return;
    }
  }
  put_confirmation(context_.store,
                   plan_.baseline,
                   session_.id(),
                   {.suspects = regressed, .after_process = last, .pairs = {}});
}

namespace {

std::optional<Timestamp> oldest_reusable(const suite::ResolvedSuite::Reuse& policy) {
  if (policy.kind == suite::ResolvedSuite::Reuse::Kind::kMaxAge) {
    return current_time() - std::chrono::duration_cast<std::chrono::microseconds>(policy.max_age);
  }
  return std::nullopt;
}

}  // namespace

std::vector<WorkSource::Item> reuse_rows(store::Store& store,
                                         const RunSession& session,
                                         const suite::ResolvedSuite& suite,
                                         std::vector<WorkSource::Item> items) {
  if (suite.reuse.kind == suite::ResolvedSuite::Reuse::Kind::kNever) {
    return items;
  }
  for (const results::CacheMode cache : suite.caches) {
    std::vector<model::LayerKey> keys;
    for (const WorkSource::Item& item : items) {
      if (std::find(item.caches.begin(), item.caches.end(), cache) != item.caches.end()) {
        keys.push_back(item.key);
      }
    }
    const std::vector<results::StoredMeasurement> found = store.reusable(
        session.header().environment.id(), keys, cache, oldest_reusable(suite.reuse));
    std::vector<results::RowId> rows(found.size());
    std::transform(
        found.begin(), found.end(), rows.begin(), [](const results::StoredMeasurement& row) {
          return row.row;
        });
    store.link_reused(session.id(), rows);
    items = without_measured(std::move(items), found);
  }
  return items;
}

void calibrate_run(store::Store& store,
                   const RunSession& session,
                   const suite::ResolvedSuite::Reuse& reuse,
                   Executor& executor) {
  const std::string environment = session.header().environment.id();
  const auto known = store.latest_calibration(environment);
  const bool may_stand = reuse.kind == suite::ResolvedSuite::Reuse::Kind::kAlways ||
                         (reuse.kind == suite::ResolvedSuite::Reuse::Kind::kMaxAge && known &&
                          known->computed >= *oldest_reusable(reuse));
  if (known && (may_stand || known->run == session.id())) {
    return;
  }
  spdlog::info("calibrating: arithmetic peak and memory bandwidth");
  put_run_record(
      store, session.id(), results::kCalibrationRecord, environment, to_json(executor.calibrate()));
}

bool control_run(store::Store& store, const RunSession& session, Executor& executor) {
  std::optional<results::Controls> controls = executor.measure_controls();
  if (controls) {
    controls->host = measuring_host(session.header().environment);
    put_run_record(store,
                   session.id(),
                   results::kControlsRecord,
                   session.header().environment.facts.at("boot.id"),
                   to_json(*controls));
  }
  return controls.has_value();
}

namespace {

namespace fs = std::filesystem;

/// Returns where the log of a command is kept: the last one of each command and folder.
fs::path log_of(const std::string& command, const fs::path& folder) {
  const fs::path logs = cache_folder() / "build-logs";
  std::error_code ignored;
  fs::create_directories(logs, ignored);
  return fs::absolute(logs) / (sha256(folder.string() + '\n' + command).substr(0, 24) + ".log");
}

}  // namespace

std::optional<SuiteRun::Options::BuiltStack> build_stack(const stacks::BuildCache::Recipe& recipe,
                                                         const std::atomic<bool>& stop,
                                                         ProgressDisplay& display) {
  const std::string& command = recipe.command;
  const fs::path folder = fs::absolute(recipe.stack_folder).lexically_normal();
  const fs::path log = log_of(command, fs::current_path());
  ProgressDisplay::Stage stage(display);
  const stacks::ProgramEnd end = stacks::run_build(
      command, fs::current_path(), recipe.time_limit, log, stop, [&](Seconds elapsed) {
        stage.show({.done = 0,
                    .total = 1,
                    .unit = "builds",
                    .current = command,
                    .elapsed = elapsed,
                    .left = std::nullopt});
      });
  if (end.stopped) {
    return std::nullopt;
  }
  if (!end.problem.empty()) {
    throw Error(Error::Kind::kUser,
                fmt::format("the build command '{}' {}; its log '{}' ends: {}",
                            command,
                            end.problem,
                            log.string(),
                            fmt::join(end.tail, " | ")));
  }
  SuiteRun::Options::BuiltStack built;
  built.stack = worker_options({folder.string()}).stack.name;
  if (const std::optional<std::string> commit = stacks::commit_of_folder(built.stack)) {
    built.labels.emplace("commit", *commit);
  }
  return built;
}

}  // namespace plumb::session
