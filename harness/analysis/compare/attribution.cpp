// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/compare/attribution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "harness/analysis/bounds/result_set.hpp"
#include "harness/analysis/compare/comparison_result.hpp"
#include "harness/analysis/compare/metric_comparison.hpp"
#include "harness/analysis/compare/model_comparison.hpp"

namespace plumb::analysis {
namespace {

/// Time of one layer key in one execution of a model, over all its occurrences.
struct KeyShare {
  double seconds = 0.0;
  std::string variant;
};
using KeyShares = std::map<model::LayerKey, KeyShare>;

KeyShares compute_shares(const results::Execution& execution, double& reorders) {
  KeyShares shares;
  for (const results::Execution::Layer& layer : execution.layers) {
    reorders += layer.reorder.count();
    if (!layer.layers.empty()) {
      KeyShare& share = shares[layer.key];
      share.seconds += layer.seconds.count();
      share.variant = layer.variant;
    }
  }
  return shares;
}

/// Difference of two executions, split into terms. Each `…_scale` is the root of the sum of the
/// squared times behind a difference. A relative deviation times this scale is the error of the
/// term.
struct Split {
  struct Layer {
    double difference = 0.0;
    double scale = 0.0;
    std::string before;
    std::string after;
  };
  double delta = 0.0;
  double delta_scale = 0.0;
  std::map<model::LayerKey, Layer> matched;
  double reorders = 0.0;
  double reorder_scale = 0.0;
  double unmatched = 0.0;
  double unmatched_scale = 0.0;

  [[nodiscard]] double unexplained() const {
    double rest = delta - unmatched - reorders;
    for (const auto& [key, layer] : matched) {
      rest -= layer.difference;
    }
    return rest;
  }
};

bool can_split(const results::Execution& before, const results::Execution& after) {
  return !before.layers.empty() && !after.layers.empty() && before.row.outcome.timed() &&
         after.row.outcome.timed();
}

Split compute_split(const results::Execution& before, const results::Execution& after) {
  Split split;
  double left_reorders = 0.0;
  double right_reorders = 0.0;
  const KeyShares left = compute_shares(before, left_reorders);
  const KeyShares right = compute_shares(after, right_reorders);
  const double old_time = before.row.corrected().median.count();
  const double new_time = after.row.corrected().median.count();
  split.delta = new_time - old_time;
  split.delta_scale = std::hypot(old_time, new_time);
  split.reorders = right_reorders - left_reorders;
  split.reorder_scale = std::hypot(left_reorders, right_reorders);
  for (const auto& [key, share] : left) {
    if (const auto other = right.find(key); other != right.end()) {
      split.matched[key] = {other->second.seconds - share.seconds,
                            std::hypot(share.seconds, other->second.seconds),
                            share.variant,
                            other->second.variant};
    } else {
      split.unmatched -= share.seconds;
      split.unmatched_scale = std::hypot(split.unmatched_scale, share.seconds);
    }
  }
  for (const auto& [key, share] : right) {
    if (!left.contains(key)) {
      split.unmatched += share.seconds;
      split.unmatched_scale = std::hypot(split.unmatched_scale, share.seconds);
    }
  }
  return split;
}

void put_largest_first(RunComparison::Attribution& attribution) {
  std::stable_sort(
      attribution.layers.begin(), attribution.layers.end(), [](const auto& one, const auto& two) {
        return std::abs(one.seconds) > std::abs(two.seconds);
      });
}

/// Values of one difference over the rounds.
struct Differences {
  std::vector<double> values;

  [[nodiscard]] std::pair<double, double> mean_and_error() const {
    const stats::TrimmedMean mean = stats::trimmed_mean(values);
    return {mean.mean, std::sqrt(mean.variance / mean.kept)};
  }
};

}  // namespace

std::optional<RunComparison::Attribution> attribute_model(
    std::span<const results::PairedRound* const> rounds, const results::ModelMode& model) {
  RunComparison::Attribution result;
  result.subject = model.first;
  result.mode = model.second;
  std::map<model::LayerKey, Differences> layers;
  std::map<model::LayerKey, std::pair<std::string, std::string>> variants;
  Differences whole;
  Differences reorders;
  Differences unmatched;
  Differences unexplained;
  for (const results::PairedRound* const each : rounds) {
    const results::PairedRound& round = *each;
    const auto before = round.baseline.models.find(model);
    const auto after = round.candidate.models.find(model);
    if (before == round.baseline.models.end() || after == round.candidate.models.end() ||
        !can_split(before->second, after->second)) {
      continue;
    }
    const Split split = compute_split(before->second, after->second);
    for (const auto& [key, layer] : split.matched) {
      layers[key].values.push_back(layer.difference);
      variants[key] = {layer.before, layer.after};
    }
    whole.values.push_back(split.delta);
    reorders.values.push_back(split.reorders);
    unmatched.values.push_back(split.unmatched);
    unexplained.values.push_back(split.unexplained());
  }
  if (whole.values.size() < kMinPairs) {
    return std::nullopt;
  }
  std::tie(result.delta_seconds, result.delta_error) = whole.mean_and_error();
  std::tie(result.reorder_seconds, result.reorder_error) = reorders.mean_and_error();
  std::tie(result.unmatched_seconds, result.unmatched_error) = unmatched.mean_and_error();
  std::tie(result.unexplained_seconds, result.unexplained_error) = unexplained.mean_and_error();
  for (const auto& [key, differences] : layers) {
    if (differences.values.size() < kMinPairs) {
      continue;
    }
    const auto [mean, error] = differences.mean_and_error();
    result.layers.push_back(
        {key.text, mean, error, variants.at(key).first, variants.at(key).second});
  }
  put_largest_first(result);
  return result;
}

std::optional<RunComparison::Attribution> attribute_model(const std::string& subject,
                                                          const results::Execution& before,
                                                          const results::Execution& after,
                                                          double deviation) {
  if (!can_split(before, after)) {
    return std::nullopt;
  }
  const Split split = compute_split(before, after);
  RunComparison::Attribution result;
  result.subject = subject;
  result.mode = before.mode;
  result.delta_seconds = split.delta;
  result.delta_error = deviation * split.delta_scale;
  result.reorder_seconds = split.reorders;
  result.reorder_error = deviation * split.reorder_scale;
  result.unmatched_seconds = split.unmatched;
  result.unmatched_error = deviation * split.unmatched_scale;
  result.unexplained_seconds = split.unexplained();
  double square = std::pow(result.delta_error, 2) + std::pow(result.reorder_error, 2) +
                  std::pow(result.unmatched_error, 2);
  for (const auto& [key, layer] : split.matched) {
    const double error = deviation * layer.scale;
    square += error * error;
    result.layers.push_back({key.text, layer.difference, error, layer.before, layer.after});
  }
  result.unexplained_error = std::sqrt(square);
  put_largest_first(result);
  return result;
}

namespace {

/// Lists the models that execute a layer.
std::vector<std::string> models_with(const RunComparison::Side& side, const std::string& key) {
  std::vector<std::string> models;
  for (const auto& [subject, executions] : side.executions) {
    const bool there = std::any_of(executions.begin(), executions.end(), [&](const auto& each) {
      return std::any_of(
          each.layers.begin(), each.layers.end(), [&](const results::Execution::Layer& layer) {
            return layer.key.text == key;
          });
    });
    if (there) {
      models.push_back(subject);
    }
  }
  return models;
}

}  // namespace

void attribute_models(const RunComparison::Side& baseline,
                      const RunComparison::Side& candidate,
                      RunComparison& result) {
  for (const auto& [subject, executions] : baseline.executions) {
    const auto others = candidate.executions.find(subject);
    if (others == candidate.executions.end()) {
      continue;
    }
    const std::vector<ReplicatedExecution> after = replicated_executions(others->second);
    for (const ReplicatedExecution& before : replicated_executions(executions)) {
      const results::Execution& each = *before.told;
      const auto same = std::find_if(after.begin(), after.end(), [&](const auto& other) {
        return other.told->mode == each.mode && other.told->scenario == each.scenario &&
               other.told->turn == each.turn;
      });
      if (same == after.end()) {
        continue;
      }
      auto split = attribute_model(subject, each, *same->told, result.deviation.relative);
      if (!split) {
        continue;
      }
      const std::string series = end_to_end_series(subject, each.mode, each.scenario);
      for (MetricComparison& metric : result.metrics) {
        const bool changed = metric.verdict == ComparisonVerdict::kRegressed ||
                             metric.verdict == ComparisonVerdict::kImproved;
        if (changed && metric.series == series) {
          metric.causes = find_causes(*split);
        }
      }
      result.attributions.push_back(std::move(*split));
    }
  }
}

std::vector<RunComparison::Finding> group_findings(
    const RunComparison::Side& baseline, const std::vector<RunComparison::Layer>& layers) {
  RunComparison::FindingGroups groups;
  for (const RunComparison::Layer& test : layers) {
    const bool broken = test.metric.verdict == ComparisonVerdict::kBroken;
    if (test.key.empty() || (!broken && test.metric.verdict != ComparisonVerdict::kRegressed)) {
      continue;
    }
    MetricComparison::Cause cause =
        implementation_cause(test.baseline_variant, test.candidate_variant);
    if (broken) {
      cause = {test.metric.reason, 1.0, "worked in the baseline"};
    } else {
      for (const MetricComparison::Cause& further : test.metric.causes) {
        cause.evidence += fmt::format("; {}: {}", further.cause, further.evidence);
      }
    }
    groups.add(cause, test.key, test.metric.delta, models_with(baseline, test.key));
  }
  return groups.findings();
}

Seconds FunctionFinding::unexplained() const {
  Seconds rest = change();
  for (const FunctionFinding::Part& part : parts) {
    rest -= part.change;
  }
  return rest;
}

std::optional<bool> FunctionFinding::disagrees() const {
  if (!low || !high || !change_low || !change_high || baseline <= Seconds(0.0) ||
      has_other_mode()) {
    return std::nullopt;
  }
  return 1.0 + *change_low / baseline > *high || 1.0 + *change_high / baseline < *low;
}

}  // namespace plumb::analysis
