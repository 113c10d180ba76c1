// SPDX-License-Identifier: Apache-2.0
#include "harness/session/run/suspect_confirmation.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <set>
#include <utility>

#include "harness/analysis/compare/environment_difference.hpp"
#include "harness/base/error.hpp"
#include "harness/base/timestamp.hpp"
#include "harness/results/results_json.hpp"
#include "harness/session/host/system_facts.hpp"
#include "harness/session/host/worker_choice.hpp"
#include "harness/session/paired/paired_rounds.hpp"
#include "harness/session/stored/stored_comparison.hpp"
#include "harness/session/stored/stored_records.hpp"
#include "harness/session/work/planner.hpp"
#include "harness/session/work/suite_models.hpp"
#include "harness/suite/suite.hpp"

namespace plumb::session {
namespace {

/// Suspects of a gate, measured in pairs of restarted processes by the sequential rule.
class PairedSuspects {
 public:
  /// Keeps references to all arguments.
  PairedSuspects(const SessionContext& context,
                 const suite::ResolvedSuite& suite,
                 std::span<const PlannedModel> models,
                 const analysis::Suspects& suspects)
      : context_(context), suite_(suite), models_(models), suspects_(suspects) {}

  /// Measures both sides until every suspect is decided, or the rule's last look is past. It also
  /// ends when the budget ends or the user stops. Throws Error{kEnvironment} if a worker cannot be
  /// started.
  [[nodiscard]] analysis::PairedConfirmation measure(PairedSide baseline,
                                                     PairedSide candidate) const;

  Seconds row_timeout{60.0};  ///< of silence from a worker
  Seconds budget{60.0};       ///< no round begins after it

 private:
  [[nodiscard]] PairedWork work() const;

  const SessionContext& context_;
  const suite::ResolvedSuite& suite_;
  std::span<const PlannedModel> models_;
  const analysis::Suspects& suspects_;
};

// The run that raised the suspicion has screened already. So four pairs are enough for a look at
// the direction.
const analysis::SequentialDesign kDesign{{4, 8, 12}, 0.5};
// A metric is equivalent early only if that is clear: an undecided 3 % goes on to the last look.
constexpr double kModelMargin = 0.03;
constexpr double kLayerMargin = 0.05;
// A neighbour who comes during the controls alone must not cost one of the few rounds.
constexpr double kControlDrift = 0.5;
constexpr double kLevel = 0.01;  // of q, over the suspects of one kind
constexpr measure::SamplingPlan kModelSampling{.warm_up_at_most = Seconds(0.02),
                                               .budget = Seconds(0.05)};

analysis::RoundLimits limits_of_suspects() {
  analysis::RoundLimits limits;
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

PairedWork PairedSuspects::work() const {
  PairedWork work;
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

analysis::PairedConfirmation PairedSuspects::measure(PairedSide baseline,
                                                     PairedSide candidate) const {
  PairedRounds rounds(
      context_.store, std::move(baseline), std::move(candidate), row_timeout, context_.stop);
  ProgressStage stage(context_.progress);
  const analysis::SequentialRule rule(kDesign);
  std::set<results::ModelMode> cleared;
  RoundJudge judge{rule.looks(), [&](std::span<const results::PairedRound> measured) {
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
  SequentialRounds measured = measure_in_sequence(
      rounds, work(), judge, budget, [&](const Progress& progress) { stage.show(progress); });
  for (analysis::QualifiedMetric& metric : measured.comparison.models) {
    if (cleared.contains({metric.subject, metric.mode})) {
      metric.decided_at = analysis::kGlancePairs;
    }
  }
  analysis::PairedConfirmation confirmation;
  confirmation.rounds = measured.rounds.size();
  confirmation.valid = measured.comparison.valid;
  confirmation.drifted = measured.comparison.drift.moved;
  for (std::vector<analysis::QualifiedMetric>* const family :
       {&measured.comparison.models, &measured.comparison.layers}) {
    std::move(family->begin(), family->end(), std::back_inserter(confirmation.metrics));
  }
  return confirmation;
}

constexpr Seconds kMinConfirmation{45.0};
constexpr double kConfirmationShare = 0.25;  // of a run's time
constexpr std::size_t kMinFreshProcesses = 3;

}  // namespace

std::vector<Confirmation> unconfirmed_keys(const store::Store& store,
                                           const results::RunId& run,
                                           std::size_t processes) {
  std::vector<results::StoredMeasurement> rows = store.measurements(run);
  std::erase_if(rows, [](const results::StoredMeasurement& row) { return row.reused; });
  ConfirmationRule rule = ExecutorOptions().confirmation;
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

void SuspectConfirmation::confirm(Seconds start, int threads, ModelRuns& runs) {
  if (!confirm_in_pairs(start, threads)) {
    confirm_alone(start, runs);
  }
}

/// Finds what the run must confirm. Empty if the runs are unlike, which their comparison reports.
analysis::Suspects SuspectConfirmation::suspects(analysis::SuspectRule rule) const {
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
bool SuspectConfirmation::confirm_in_pairs(Seconds start, int threads) {
  const results::RunHeader before = context_.store.find_run(plan_.baseline).header;
  const std::string& device = executor_.options().worker.setup.device;
  if (!is_at_hand(before, threads, device)) {
    return false;
  }
  const analysis::Suspects slower = suspects(analysis::SuspectRule::kSlower);
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
  PairedSide candidate{executor_.options().worker, {}, session_.watcher()};
  PairedSide reference{worker_options({before.stack, threads, device}), {}};
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
void SuspectConfirmation::confirm_alone(Seconds start, ModelRuns& runs) {
  const analysis::Suspects regressed = suspects(analysis::SuspectRule::kRegressed);
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
  std::vector<Confirmation> keys =
      unconfirmed_keys(context_.store, session_.id(), processes_ + plan_.processes + 1);
  std::erase_if(keys, [&](const Confirmation& key) { return !regressed.layers.contains(key.key); });
  for (std::size_t round = 1;
       round <= plan_.processes && (round <= kMinFreshProcesses || steady_time() < end);
       ++round) {
    const std::size_t number = processes_ + round;
    shuffle_for(session_.id(), number, keys);
    ProgressStage stage(context_.progress);
    if (!executor_.repeat(
            session_.id(), keys, stopped, [&](const Progress& each) { stage.show(each); }) ||
        !runs.execute_again(regressed.subjects(), number, stopped)) {
      return;
    }
  }
  put_confirmation(context_.store,
                   plan_.baseline,
                   session_.id(),
                   {.suspects = regressed, .after_process = last, .pairs = {}});
}

}  // namespace plumb::session
