// SPDX-License-Identifier: Apache-2.0
#include "harness/session/bisect/step_judge.hpp"

#include <algorithm>
#include <utility>

namespace plumb::session {
namespace {

using analysis::CandidateState;
using analysis::ComparisonVerdict;
using analysis::QualifiedMetric;
using analysis::RoundComparison;

bool is_worse(const QualifiedMetric& metric) {
  return metric.test.verdict == ComparisonVerdict::kBroken ||
         metric.test.verdict == ComparisonVerdict::kRegressed;
}

/// Returns whether one metric is more worth searching for: a broken one, or the larger slow-down.
bool is_milder(const QualifiedMetric* one, const QualifiedMetric* other) {
  const auto weight = [](const QualifiedMetric& metric) {
    return std::pair(metric.test.verdict == ComparisonVerdict::kBroken,
                     metric.test.ratio.value_or(0.0));
  };
  return weight(*one) < weight(*other);
}

std::vector<const QualifiedMetric*> all_of(const RoundComparison& comparison) {
  std::vector<const QualifiedMetric*> metrics;
  for (const auto* const family : {&comparison.models, &comparison.layers}) {
    for (const QualifiedMetric& metric : *family) {
      metrics.push_back(&metric);
    }
  }
  return metrics;
}

const QualifiedMetric* find_metric(const RoundComparison& comparison,
                                   const analysis::BisectionSubject& subject) {
  const std::vector<const QualifiedMetric*> metrics = all_of(comparison);
  const auto found = std::find_if(metrics.begin(), metrics.end(), [&](const auto* metric) {
    return metric->subject == subject.name && metric->mode == subject.mode;
  });
  return found == metrics.end() ? nullptr : *found;
}

/// Returns what is broken, or else slows down most. Null: nothing is worse.
const QualifiedMetric* find_worst(const RoundComparison& comparison) {
  std::vector<const QualifiedMetric*> metrics = all_of(comparison);
  std::erase_if(metrics, [](const QualifiedMetric* metric) { return !is_worse(*metric); });
  const auto worst = std::max_element(metrics.begin(), metrics.end(), is_milder);
  return worst == metrics.end() ? nullptr : *worst;
}

analysis::PairedSamples pairs_of(const QualifiedMetric& metric) {
  return {"", metric.baseline_seconds, metric.candidate_seconds};
}

/// Measures one metric in more rounds.
void open_again(const analysis::BisectionSubject& subject, RoundComparison& comparison) {
  if (subject.mode.empty()) {
    comparison.open_layers.insert({subject.name});
  } else {
    comparison.open_models.insert({subject.name, subject.mode});
  }
}

void copy_metric(const QualifiedMetric& metric, analysis::BisectionStep& step) {
  step.subject = {metric.subject, metric.mode};
  step.test = metric.test;
  step.pairs = metric.baseline_seconds.size();
  step.baseline_variant = metric.baseline_variant;
  step.candidate_variant = metric.candidate_variant;
}

/// Returns whether nothing is known of a step, and notes why where the numbers do not show it.
bool note_obstacle(const RoundComparison& comparison, analysis::BisectionStep& step) {
  if (comparison.valid == 0) {
    step.test.reason = "no round was valid: the controls drifted";
  } else if (comparison.drift.moved) {
    step.test.reason = "the machine drifted";
  } else {
    return false;
  }
  step.test.verdict = ComparisonVerdict::kInconclusive;
  step.state = CandidateState::kUnknown;
  return true;
}

}  // namespace

StepJudge::StepJudge(std::size_t pairs, analysis::RoundLimits limits)
    : pairs_(pairs),
      limits_(std::move(limits)),
      rule_(analysis::search_design(pairs)),
      sides_(rule_.looks()) {}

RoundJudge StepJudge::of_ends() const {
  return {rule_.looks(), [this](std::span<const results::PairedRound> rounds) {
            RoundComparison comparison = analysis::compare_rounds(rounds, rule_, limits_);
            const QualifiedMetric* const worst = find_worst(comparison);
            if (worst == nullptr) {
              return comparison;
            }
            if (comparison.valid >= pairs_) {
              comparison.open_layers.clear();
              comparison.open_models.clear();
            }
            analysis::MetricComparison ignored;
            if (worst->test.verdict == ComparisonVerdict::kRegressed &&
                !analysis::estimate_change(pairs_of(*worst), ignored)) {
              open_again({worst->subject, worst->mode}, comparison);
            }
            return comparison;
          }};
}

RoundJudge StepJudge::of_candidate(const SoughtChange& change) const {
  return {rule_.looks(), [this, change](std::span<const results::PairedRound> rounds) {
            RoundComparison comparison = analysis::compare_rounds(rounds, rule_, limits_);
            comparison.open_layers.clear();
            comparison.open_models.clear();
            const QualifiedMetric* const metric = find_metric(comparison, change.subject);
            if (metric != nullptr &&
                state_of(*metric, change, comparison.valid) == CandidateState::kUnknown &&
                metric->test.verdict != ComparisonVerdict::kBroken) {
              open_again(change.subject, comparison);
            }
            return comparison;
          }};
}

RoundJudge StepJudge::of_confirmation() const {
  return {rule_.looks(), [this](std::span<const results::PairedRound> rounds) {
            return analysis::compare_rounds(rounds, rule_, limits_);
          }};
}

CandidateState StepJudge::state_of(const QualifiedMetric& metric,
                                   const SoughtChange& change,
                                   std::size_t valid) const {
  if (metric.test.verdict == ComparisonVerdict::kBroken) {
    return change.broken ? CandidateState::kBad : CandidateState::kUnknown;
  }
  if (change.broken) {  // it works, unless a process failed once
    return metric.baseline_seconds.size() == valid && valid >= rule_.looks().front()
               ? CandidateState::kGood
               : CandidateState::kUnknown;
  }
  switch (sides_.judge(pairs_of(metric), change.ratio)) {
    case analysis::ChangeSide::kBefore:
      return CandidateState::kGood;
    case analysis::ChangeSide::kAfter:
      return CandidateState::kBad;
    case analysis::ChangeSide::kOpen:
      break;
  }
  return CandidateState::kUnknown;
}

void StepJudge::conclude_ends(const RoundComparison& comparison,
                              analysis::BisectionStep& step) const {
  const std::vector<const QualifiedMetric*> metrics = all_of(comparison);
  if (!metrics.empty()) {
    copy_metric(**std::max_element(metrics.begin(), metrics.end(), is_milder), step);
  }
  if (note_obstacle(comparison, step)) {
    return;
  }
  const auto open = [](const QualifiedMetric* metric) {
    return metric->test.verdict == ComparisonVerdict::kInconclusive;
  };
  step.state = std::any_of(metrics.begin(), metrics.end(), open) || metrics.empty()
                   ? CandidateState::kUnknown
                   : CandidateState::kGood;
  if (const QualifiedMetric* const worst = find_worst(comparison)) {
    copy_metric(*worst, step);
    step.state = CandidateState::kBad;
    if (step.test.verdict == ComparisonVerdict::kRegressed) {
      static_cast<void>(analysis::estimate_change(pairs_of(*worst), step.test));
    }
  }
}

void StepJudge::conclude(const RoundComparison& comparison,
                         const SoughtChange& change,
                         analysis::BisectionStep& step) const {
  step.subject = change.subject;
  const QualifiedMetric* const metric = find_metric(comparison, change.subject);
  if (metric != nullptr) {
    copy_metric(*metric, step);
  }
  if (note_obstacle(comparison, step) || metric == nullptr) {
    return;
  }
  if (step.task.purpose == analysis::SearchTask::Purpose::kSearch) {
    step.state = state_of(*metric, change, comparison.valid);
  } else if (is_worse(*metric)) {
    step.state = CandidateState::kBad;
  } else {
    step.state = metric->test.verdict == ComparisonVerdict::kInconclusive ? CandidateState::kUnknown
                                                                          : CandidateState::kGood;
  }
}

}  // namespace plumb::session
