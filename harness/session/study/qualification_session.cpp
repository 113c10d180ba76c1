// SPDX-License-Identifier: Apache-2.0
#include "harness/session/study/qualification_session.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "harness/analysis/compare/comparison_result.hpp"
#include "harness/analysis/compare/run_comparison.hpp"
#include "harness/analysis/profile/explained_metrics.hpp"
#include "harness/analysis/qualify/qualification.hpp"
#include "harness/analysis/report/reports.hpp"
#include "harness/base/error.hpp"
#include "harness/base/timestamp.hpp"
#include "harness/session/paired/paired_rounds.hpp"
#include "harness/session/paired/paired_session.hpp"
#include "harness/session/stored/stored_records.hpp"
#include "harness/session/study/paired_studies.hpp"
#include "harness/worker/protocol/requests.hpp"

namespace plumb::session {
namespace {

constexpr std::size_t kMaxReplayed = 24;

/// One qualification session, from its first worker to its verdict.
class QualificationSession {
 public:
  QualificationSession(const SessionContext& context,
                       const suite::ResolvedSuite& suite,
                       std::span<const PlannedModel> models,
                       const analysis::Qualification::Criteria& criteria,
                       const UpgradeTest::Options& options)
      : context_(context), suite_(suite), models_(models), options_(options) {
    q_.criteria = criteria;
    q_.suite = suite.name;
    q_.command = options.paired.command;
    q_.started = clock_.begin();
  }

  UpgradeTest run() {
    const PairedSession::Run baseline = side(options_.baseline, q_.baseline);
    const PairedSession::Run candidate = side(options_.candidate, q_.candidate);
    refuse_unlike(baseline, candidate);
    compare_environments(baseline.header.environment, candidate.header.environment);
    PairedSession session(context_.store, baseline, candidate);
    floors_ = calibrated_floors(
        context_.store, baseline.header.environment, candidate.header.environment);
    if (!floors_.runs.empty()) {
      q_.notes.push_back(fmt::format("floors calibrated by {}", fmt::join(floors_.runs, ", ")));
    }
    PairedRounds::Sequence measured = measure(session);
    q_.machine_moved = measured.comparison.drift.moved;
    q_.complete = !measured.comparison.open();
    q_.looks = std::move(measured.looks);
    if (measured.budget_ended) {
      q_.notes.emplace_back("the budget ended before everything was decided");
    }
    analysis::add_evidence(measured.rounds, std::move(measured.comparison), q_);
    name_models();
    if (!context_.stop.load()) {
      replay(session);
    }
    add_findings(q_);
    if (!context_.stop.load()) {
      explain(session, baseline.header.environment, candidate.header.environment);
    }
    check_stacks(session);
    analysis::judge_criteria(q_);
    q_.finished = clock_.now();
    finish(session);
    const bool unchanged = !q_.stack_changed;
    return {std::move(q_), unchanged};
  }

 private:
  PairedSession::Run side(const std::string& stack, analysis::Qualification::Stack& side) {
    PairedSession::Run run = paired_run(stack, suite_, models_, options_.paired);
    results::add_labels(options_.labels, run.header.environment);
    side.name = stack;
    side.run = run.header.id;
    side.environment = run.header.environment.id();
    for (const results::Facts* facts :
         {&run.header.environment.identity, &run.header.environment.facts}) {
      for (const auto& [name, value] : *facts) {
        if (name.rfind("library", 0) == 0) {
          side.libraries[name] = value;
        }
      }
    }
    q_.suite_hash = run.header.suite_hash;
    return run;
  }

  void compare_environments(const results::Environment& baseline,
                            const results::Environment& candidate) {
    q_.differences = analysis::environment_diff(baseline, candidate);
    for (const auto& [name, value] : baseline.identity) {
      const auto other = candidate.identity.find(name);
      if (other != candidate.identity.end() && other->second == value) {
        q_.unchanged.push_back({name, value, value, true});
      }
    }
  }

  PairedRounds::Sequence measure(const PairedSession& session) {
    PairedRounds pairs(context_.store,
                       session.baseline(),
                       session.candidate(),
                       options_.paired.row_timeout,
                       context_.stop);
    analysis::RoundComparison::Limits limits;
    limits.control_drift = q_.criteria.control_drift;
    limits.floors = floors_;
    PairedRounds::Work work = collect_work(context_.models, suite_, models_, options_.paired.modes);
    if (!options_.layers) {
      work.layers.clear();
    }
    if (!work.left_out.empty()) {
      q_.notes.push_back(work.left_out);
    }
    ProgressDisplay::Stage stage(context_.progress);
    return measure_in_sequence(
        pairs,
        std::move(work),
        analysis::SequentialRule(analysis::design_for(options_.paired.pairs)),
        limits,
        options_.paired.budget,
        [&](const ProgressDisplay::Progress& progress) { stage.show(progress); });
  }

  /// Looks for stacks that changed while they were measured: their results decide nothing.
  void check_stacks(const PairedSession& session) {
    for (std::string& fault : session.stack_faults()) {
      spdlog::error("{}", fault);
      q_.notes.push_back(std::move(fault));
      q_.complete = false;
      q_.stack_changed = true;
    }
  }

  /// Adds to each layer its name, and the models that it occurs in.
  void name_models() {
    std::map<std::string, std::set<std::string>> models;
    analysis::ComparisonReport::Places places;
    for (const PlannedModel& model : models_) {
      places.add_layers(model.graph, model.instance);
      for (const model::Layer& layer : model.graph.layers) {
        models[layer.key.text].insert(analysis::subject_of(model.instance));
      }
    }
    const std::map<std::string, std::string> names = places.texts();
    for (analysis::RoundComparison::Metric& layer : q_.layers) {
      const auto& found = models[layer.subject];
      layer.models.assign(found.begin(), found.end());
      const auto name = names.find(layer.subject);
      layer.place = name == names.end() ? "" : name->second;
    }
  }

  void replay(const PairedSession& session) {
    std::vector<analysis::RoundComparison::Metric*> regressed;
    for (analysis::RoundComparison::Metric& layer : q_.layers) {
      if (layer.test.verdict == analysis::ComparisonVerdict::kRegressed) {
        regressed.push_back(&layer);
      }
    }
    std::stable_sort(regressed.begin(), regressed.end(), [](const auto* one, const auto* other) {
      return one->test.delta > other->test.delta;
    });
    if (regressed.size() > kMaxReplayed) {
      q_.notes.push_back(
          fmt::format("cross-replay tried the {} layers that lost the most time, of {}",
                      kMaxReplayed,
                      regressed.size()));
      regressed.resize(kMaxReplayed);
    }
    if (regressed.empty()) {
      return;
    }
    std::vector<PairedSession::Replay::Request> requests;
    requests.reserve(regressed.size());
    for (const analysis::RoundComparison::Metric* layer : regressed) {
      requests.push_back({{layer->subject}, layer->baseline_variant});
    }
    PairedSession::Replay replay(context_.store,
                                 session.baseline(),
                                 session.candidate(),
                                 options_.paired.row_timeout,
                                 static_cast<std::int64_t>(q_.rounds) + 1,
                                 context_.stop);
    std::vector<analysis::Qualification::ReplayTimes> times =
        replay.run(requests, [](const std::string& what) { spdlog::info("{}", what); });
    for (std::size_t i = 0; i < times.size() && !context_.stop.load(); ++i) {
      times[i].candidate_chosen = regressed[i]->candidate_variant;
      regressed[i]->replay = analysis::judge_replay(times[i], regressed[i]->test);
    }
  }

  /// Profiles the models that changed, or that have a layer which changed, and names the functions
  /// that explain it.
  void explain(const PairedSession& session,
               const results::Environment& baseline,
               const results::Environment& candidate) {
    const analysis::ProfilingChoice choice = choose_profiling();
    if (choice.models.empty() || !options_.profile_budget) {
      return;
    }
    if (!baseline.facts.contains(worker::kSamplingFact) ||
        !candidate.facts.contains(worker::kSamplingFact)) {
      q_.notes.emplace_back(
          "what changed was not profiled: workers of this backend cannot be sampled");
      return;
    }
    spdlog::info("profiling {} models and layers in which something changed, or as controls",
                 choice.models.size());
    PairedProfiles sets = profile_in_pairs(context_,
                                           suite_,
                                           models_,
                                           choice.models,
                                           session.baseline(),
                                           session.candidate(),
                                           *options_.profile_budget);
    std::move(sets.problems.begin(), sets.problems.end(), std::back_inserter(q_.notes));
    std::map<std::string, const model::Graph*> graphs;
    for (const PlannedModel& model : models_) {
      graphs[analysis::subject_of(model.instance)] = &model.graph;
    }
    q_.functions = analysis::explain_metrics(choice.metrics, sets.baseline, sets.candidate, graphs);
  }

  static analysis::ProfilingChoice::Metric describe(
      const analysis::RoundComparison::Metric& metric) {
    analysis::ProfilingChoice::Metric described = analysis::describe_metric(metric.test);
    described.mode = metric.mode;
    if (metric.mode.empty()) {
      described.layer = metric.subject;
    } else {
      described.model = metric.subject;
    }
    return described;
  }

  /// Chooses what is profiled: what changed, and controls.
  [[nodiscard]] analysis::ProfilingChoice choose_profiling() const {
    using analysis::ComparisonVerdict;
    std::vector<analysis::ProfilingChoice::Metric> changed;
    std::vector<analysis::ProfilingChoice::Metric> not_changed;
    std::map<std::string, std::vector<std::string>> models_of_layers;
    for (const std::vector<analysis::RoundComparison::Metric>* const metrics :
         {&q_.models, &q_.layers}) {
      for (const analysis::RoundComparison::Metric& metric : *metrics) {
        const ComparisonVerdict verdict = metric.test.verdict;
        if (verdict == ComparisonVerdict::kEquivalent) {
          not_changed.push_back(describe(metric));
        } else if ((verdict == ComparisonVerdict::kRegressed ||
                    verdict == ComparisonVerdict::kImproved) &&
                   metric.test.ratio) {
          changed.push_back(describe(metric));
        }
      }
    }
    for (const analysis::RoundComparison::Metric& layer : q_.layers) {
      models_of_layers[layer.subject] = layer.models;
    }
    return analysis::choose_profiling(std::move(changed), not_changed, models_of_layers);
  }

  void finish(PairedSession& session) {
    const bool stopped = context_.stop.load() || q_.stack_changed;
    session.finish(stopped ? results::RunState::kInterrupted : results::RunState::kFinished);
    put_run_record(context_.store,
                   q_.candidate.run,
                   results::kQualificationRecord,
                   q_.baseline.name + " → " + q_.candidate.name,
                   to_json(q_));
  }

  WorkClock clock_;
  const SessionContext& context_;
  const suite::ResolvedSuite& suite_;
  std::span<const PlannedModel> models_;
  const UpgradeTest::Options& options_;
  analysis::Qualification q_;
  analysis::CalibratedFloors floors_;
};

}  // namespace

UpgradeTest test_upgrade(const SessionContext& context,
                         const suite::ResolvedSuite& suite,
                         std::span<const PlannedModel> models,
                         const analysis::Qualification::Criteria& criteria,
                         const UpgradeTest::Options& options) {
  return QualificationSession(context, suite, models, criteria, options).run();
}

}  // namespace plumb::session
