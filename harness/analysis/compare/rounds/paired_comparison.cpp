// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/compare/rounds/paired_comparison.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "harness/results/series/series_name.hpp"

namespace plumb::analysis {
namespace {

constexpr double kNetChange = 2.0;  // standard errors that the net change of layers must have

PairedMetric look_at(const PairedSamples& samples, bool layer) {
  return layer ? paired_metric(samples, results::layer_series(samples.name), MetricKind::kLayer)
               : paired_metric(samples, "end_to_end", MetricKind::kEndToEnd);
}

void judge_layers(std::vector<PairedMetric>& layers, const ComparisonLimits& limits) {
  std::vector<stats::TrimmedMean> samples;
  for (const PairedMetric& layer : layers) {
    if (layer.log_ratio) {
      samples.push_back(*layer.log_ratio);
    }
  }
  const stats::VariancePrior prior = stats::variance_prior(samples);
  std::vector<FamilyMember> family;
  for (PairedMetric& layer : layers) {
    if (layer.log_ratio) {
      const double p =
          test_change(layer.result, stats::moderated(*layer.log_ratio, prior), limits.alpha);
      family.push_back({&layer.result, p, limits.of_layer()});
    }
  }
  judge_family(family);
}

/// Judges the changed layers by their sum, since cost that moved from one layer to another is no
/// change.
std::optional<ComparisonVerdict> net_verdict(const std::vector<PairedMetric>& layers) {
  double delta = 0.0;
  double square = 0.0;
  for (const PairedMetric& layer : layers) {
    if (layer.result.verdict == ComparisonVerdict::kRegressed ||
        layer.result.verdict == ComparisonVerdict::kImproved) {
      delta += layer.result.delta;
      square += layer.result.error * layer.result.error;
    }
  }
  if (delta == 0.0 || std::abs(delta) <= kNetChange * std::sqrt(square)) {
    return std::nullopt;
  }
  return delta > 0.0 ? ComparisonVerdict::kRegressed : ComparisonVerdict::kImproved;
}

ComparisonVerdict judge_question(const std::optional<PairedMetric>& whole,
                                 const std::vector<PairedMetric>& layers) {
  if (whole && (whole->result.verdict == ComparisonVerdict::kRegressed ||
                whole->result.verdict == ComparisonVerdict::kImproved)) {
    return whole->result.verdict;
  }
  if (const auto net = net_verdict(layers)) {
    return *net;
  }
  if (whole) {
    return whole->result.verdict;
  }
  const bool all =
      !layers.empty() && std::all_of(layers.begin(), layers.end(), [](const PairedMetric& layer) {
        return layer.result.verdict != ComparisonVerdict::kInconclusive;
      });
  return all ? ComparisonVerdict::kEquivalent : ComparisonVerdict::kInconclusive;
}

/// Combines judged metrics: the verdict of the whole and the attribution.
PairedAnswer make_answer(const PairedQuestion& question,
                         std::optional<PairedMetric> whole,
                         std::vector<PairedMetric> layers) {
  PairedAnswer answer;
  answer.id = question.id;
  answer.verdict = judge_question(whole, layers);
  if (whole && whole->log_ratio && !layers.empty()) {
    Attribution attribution;
    attribution.delta_seconds = whole->result.delta;
    attribution.unexplained_seconds = whole->result.delta;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      if (layers[i].log_ratio) {
        attribution.layers[question.layers[i].name] = layers[i].result.delta;
        attribution.unexplained_seconds -= layers[i].result.delta;
      }
    }
    answer.attribution = std::move(attribution);
  }
  if (whole) {
    answer.metrics.push_back(std::move(whole->result));
  }
  for (PairedMetric& layer : layers) {
    answer.metrics.push_back(std::move(layer.result));
  }
  return answer;
}

/// Judges one family by the sequential rule. A metric that cannot be compared keeps its reason.
void judge_in_sequence(std::span<const PairedSamples> samples,
                       const SequentialRule& rule,
                       const FamilyLimits& limits,
                       std::vector<PairedMetric>& metrics) {
  std::vector<StagedPairs> family;
  for (const PairedSamples& each : samples) {
    family.push_back({each, rule.looks().front()});
  }
  std::vector<SequentialResult> results = rule.judge(family, limits);
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    if (metrics[i].log_ratio) {
      MetricComparison& judged = results[i].metric;
      judged.series = metrics[i].result.series;
      judged.kind = metrics[i].result.kind;
      metrics[i].result = std::move(judged);
    }
  }
}

}  // namespace

PairedAnswer compare_pairs(const PairedQuestion& question, const ComparisonLimits& limits) {
  std::optional<PairedMetric> whole;
  if (question.end_to_end) {
    whole = look_at(*question.end_to_end, false);
    if (whole->log_ratio) {
      judge_alone(whole->result,
                  test_change(whole->result, *whole->log_ratio, limits.alpha),
                  limits.of_model());
    }
  }
  std::vector<PairedMetric> layers;
  for (const PairedSamples& layer : question.layers) {
    layers.push_back(look_at(layer, true));
  }
  judge_layers(layers, limits);
  return make_answer(question, std::move(whole), std::move(layers));
}

PairedAnswer compare_pairs_in_sequence(const PairedQuestion& question,
                                       const ComparisonLimits& limits,
                                       const SequentialRule& rule) {
  std::optional<PairedMetric> whole;
  if (question.end_to_end) {
    std::vector<PairedMetric> one{look_at(*question.end_to_end, false)};
    judge_in_sequence(
        {&*question.end_to_end, 1}, rule, {MetricKind::kEndToEnd, limits.of_model()}, one);
    whole = std::move(one.front());
  }
  std::vector<PairedMetric> layers;
  for (const PairedSamples& layer : question.layers) {
    layers.push_back(look_at(layer, true));
  }
  judge_in_sequence(question.layers, rule, {MetricKind::kLayer, limits.of_layer(), true}, layers);
  return make_answer(question, std::move(whole), std::move(layers));
}

}  // namespace plumb::analysis
