// SPDX-License-Identifier: Apache-2.0
#include "harness/session/paired/paired_suspects.hpp"

#include <spdlog/spdlog.h>

#include <set>
#include <utility>

#include "harness/analysis/compare/environment_difference.hpp"
#include "harness/base/error.hpp"
#include "harness/session/host/system_facts.hpp"
#include "harness/session/host/worker_choice.hpp"
#include "harness/session/paired/sequential_rounds.hpp"
#include "harness/session/work/suite_models.hpp"

namespace plumb::session {
namespace {

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

}  // namespace

bool is_at_hand(const results::RunHeader& run, int threads, const std::string& device) {
  std::string why = "it differs from what the baseline was measured with";
  try {
    const results::Environment here = join_environment(
        read_system(),
        worker::WorkerProcess(worker_options(run.stack, threads, device)).describe(),
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
  PairedOptions options;
  options.row_timeout = row_timeout;
  PairedRounds rounds(
      context_.store, std::move(baseline), std::move(candidate), options, context_.stop);
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

}  // namespace plumb::session
