// SPDX-License-Identifier: Apache-2.0
#include "harness/analyze/paired_comparison.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace plumb {
namespace {

constexpr double kNetChange = 2.0;  // standard errors that the net change of layers must have

PairedMetric look_at(const PairedSamples& samples, bool layer) {
  return layer ? paired_metric(samples, "layers/" + samples.name, "layer")
               : paired_metric(samples, "end_to_end", "end_to_end");
}

void judge_layers(std::vector<PairedMetric>& layers, const ComparisonLimits& limits) {
  std::vector<TrimmedMean> samples;
  for (const PairedMetric& layer : layers) {
    if (layer.log_ratio) {
      samples.push_back(*layer.log_ratio);
    }
  }
  const VariancePrior prior = variance_prior(samples);
  std::vector<double> p_values;
  for (PairedMetric& layer : layers) {
    if (layer.log_ratio) {
      p_values.push_back(
          test_change(layer.result, moderated(*layer.log_ratio, prior), limits.alpha));
    }
  }
  const std::vector<double> q = false_discovery_q(p_values);
  std::size_t next = 0;
  for (PairedMetric& layer : layers) {
    if (layer.log_ratio) {
      layer.result.q = q[next++];
      layer.result.verdict = verdict_of(
          layer.result, limits.false_discovery_rate, limits.layer_floor, limits.layer_margin);
    }
  }
}

/// Judges the layers found changed by their sum: cost that moved from one to another is no change.
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

ComparisonVerdict verdict_of(const std::optional<PairedMetric>& whole,
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

}  // namespace

PairedAnswer compare_pairs(const PairedQuestion& question, const ComparisonLimits& limits) {
  PairedAnswer answer;
  answer.id = question.id;
  std::optional<PairedMetric> whole;
  if (question.end_to_end) {
    whole = look_at(*question.end_to_end, false);
    if (whole->log_ratio) {
      whole->result.q = test_change(whole->result, *whole->log_ratio, limits.alpha);
      whole->result.verdict = verdict_of(
          whole->result, limits.alpha, limits.end_to_end_floor, limits.end_to_end_margin);
    }
  }
  std::vector<PairedMetric> layers;
  for (const PairedSamples& layer : question.layers) {
    layers.push_back(look_at(layer, true));
  }
  judge_layers(layers, limits);
  answer.verdict = verdict_of(whole, layers);

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

}  // namespace plumb
