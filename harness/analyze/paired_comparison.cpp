// SPDX-License-Identifier: Apache-2.0
#include "harness/analyze/paired_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "harness/analyze/trimmed_mean.hpp"

namespace plumb {
namespace {

constexpr std::size_t kLeastPairs = 3;
constexpr double kNetChange = 2.0;  // standard errors that the net change of layers must have

/// Is a metric on its way: what its pairs say before the family has been looked at.
struct Metric {
  MetricComparison result;
  std::optional<TrimmedMean> log_ratio;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2.0;
}

std::string fault_of(const PairedSamples& samples) {
  if (samples.baseline.size() != samples.candidate.size()) {
    return fmt::format("{} rounds of the baseline and {} of the candidate are no pairs",
                       samples.baseline.size(),
                       samples.candidate.size());
  }
  for (std::size_t i = 0; i < samples.baseline.size(); ++i) {
    for (const double time : {samples.baseline[i], samples.candidate[i]}) {
      if (!std::isfinite(time) || time <= 0.0) {
        return fmt::format("round {} has the time {} s, which is not a positive number", i, time);
      }
    }
  }
  if (samples.baseline.size() < kLeastPairs) {
    return fmt::format(
        "{} pairs; {} are the least that can show a change", samples.baseline.size(), kLeastPairs);
  }
  return {};
}

Metric look_at(const PairedSamples& samples, bool layer) {
  Metric metric;
  metric.result.series = layer ? "layers/" + samples.name : "end_to_end";
  metric.result.kind = layer ? "layer" : "end_to_end";
  metric.result.reason = fault_of(samples);
  if (!metric.result.reason.empty()) {
    return metric;
  }
  std::vector<double> logs;
  std::vector<double> differences;
  for (std::size_t i = 0; i < samples.baseline.size(); ++i) {
    logs.push_back(std::log(samples.candidate[i] / samples.baseline[i]));
    differences.push_back(samples.candidate[i] - samples.baseline[i]);
  }
  metric.result.baseline = median(samples.baseline);
  metric.result.candidate = median(samples.candidate);
  metric.log_ratio = trimmed_mean(std::move(logs));
  const TrimmedMean difference = trimmed_mean(std::move(differences));
  metric.result.delta = difference.mean;
  metric.result.error = std::sqrt(difference.variance / difference.kept);
  return metric;
}

void judge_layers(std::vector<Metric>& layers, const ComparisonLimits& limits) {
  std::vector<TrimmedMean> samples;
  for (const Metric& layer : layers) {
    if (layer.log_ratio) {
      samples.push_back(*layer.log_ratio);
    }
  }
  const VariancePrior prior = variance_prior(samples);
  std::vector<double> p_values;
  for (Metric& layer : layers) {
    if (layer.log_ratio) {
      p_values.push_back(
          test_change(layer.result, moderated(*layer.log_ratio, prior), limits.alpha));
    }
  }
  const std::vector<double> q = false_discovery_q(p_values);
  std::size_t next = 0;
  for (Metric& layer : layers) {
    if (layer.log_ratio) {
      layer.result.q = q[next++];
      layer.result.verdict = verdict_of(
          layer.result, limits.false_discovery_rate, limits.layer_floor, limits.layer_margin);
    }
  }
}

/// Judges the layers found changed by their sum: cost that moved from one to another is no change.
std::optional<ComparisonVerdict> net_verdict(const std::vector<Metric>& layers) {
  double delta = 0.0;
  double square = 0.0;
  for (const Metric& layer : layers) {
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

ComparisonVerdict verdict_of(const std::optional<Metric>& whole,
                             const std::vector<Metric>& layers) {
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
      !layers.empty() && std::all_of(layers.begin(), layers.end(), [](const Metric& layer) {
        return layer.result.verdict != ComparisonVerdict::kInconclusive;
      });
  return all ? ComparisonVerdict::kEquivalent : ComparisonVerdict::kInconclusive;
}

}  // namespace

PairedAnswer compare_pairs(const PairedQuestion& question, const ComparisonLimits& limits) {
  PairedAnswer answer;
  answer.id = question.id;
  std::optional<Metric> whole;
  if (question.end_to_end) {
    whole = look_at(*question.end_to_end, false);
    if (whole->log_ratio) {
      whole->result.q = test_change(whole->result, *whole->log_ratio, limits.alpha);
      whole->result.verdict = verdict_of(
          whole->result, limits.alpha, limits.end_to_end_floor, limits.end_to_end_margin);
    }
  }
  std::vector<Metric> layers;
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
  for (Metric& layer : layers) {
    answer.metrics.push_back(std::move(layer.result));
  }
  return answer;
}

}  // namespace plumb
