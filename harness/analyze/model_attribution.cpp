// SPDX-License-Identifier: Apache-2.0
#include "harness/analyze/model_attribution.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "harness/analyze/paired_metric.hpp"

namespace plumb {
namespace {

/// Is what one layer key took in one execution of a model, all its occurrences.
struct KeyShare {
  double seconds = 0.0;
  std::string variant;
};
using KeyShares = std::map<LayerKey, KeyShare>;

KeyShares shares_of(const Execution& execution, double& reorders) {
  KeyShares shares;
  for (const ExecutedLayer& layer : execution.layers) {
    reorders += layer.reorder.count();
    if (!layer.layers.empty()) {
      KeyShare& share = shares[layer.key];
      share.seconds += layer.seconds.count();
      share.variant = layer.variant;
    }
  }
  return shares;
}

/// Is one difference over the rounds.
struct Differences {
  std::vector<double> values;

  [[nodiscard]] std::pair<double, double> mean_and_error() const {
    const TrimmedMean mean = trimmed_mean(values);
    return {mean.mean, std::sqrt(mean.variance / mean.kept)};
  }
};

}  // namespace

std::optional<ModelAttribution> attribute_model(std::span<const PairedRound* const> rounds,
                                                const ModelMode& model) {
  ModelAttribution result;
  result.subject = model.first;
  result.mode = model.second;
  std::map<LayerKey, Differences> layers;
  std::map<LayerKey, std::pair<std::string, std::string>> variants;
  Differences whole;
  Differences reorders;
  Differences unmatched;
  Differences unexplained;
  for (const PairedRound* const each : rounds) {
    const PairedRound& round = *each;
    const auto before = round.baseline.models.find(model);
    const auto after = round.candidate.models.find(model);
    if (before == round.baseline.models.end() || after == round.candidate.models.end() ||
        before->second.layers.empty() || after->second.layers.empty() ||
        !before->second.row.outcome.timed() || !after->second.row.outcome.timed()) {
      continue;
    }
    double left_reorders = 0.0;
    double right_reorders = 0.0;
    const KeyShares left = shares_of(before->second, left_reorders);
    const KeyShares right = shares_of(after->second, right_reorders);
    const double delta = after->second.row.corrected().median.count() -
                         before->second.row.corrected().median.count();
    double matched = 0.0;
    double single = 0.0;
    for (const auto& [key, share] : left) {
      if (const auto other = right.find(key); other != right.end()) {
        layers[key].values.push_back(other->second.seconds - share.seconds);
        matched += layers[key].values.back();
        variants[key] = {share.variant, other->second.variant};
      } else {
        single -= share.seconds;
      }
    }
    for (const auto& [key, share] : right) {
      single += left.contains(key) ? 0.0 : share.seconds;
    }
    whole.values.push_back(delta);
    reorders.values.push_back(right_reorders - left_reorders);
    unmatched.values.push_back(single);
    unexplained.values.push_back(delta - matched - single - reorders.values.back());
  }
  if (whole.values.size() < kLeastPairs) {
    return std::nullopt;
  }
  std::tie(result.delta_seconds, result.delta_error) = whole.mean_and_error();
  result.reorder_seconds = reorders.mean_and_error().first;
  result.unmatched_seconds = unmatched.mean_and_error().first;
  std::tie(result.unexplained_seconds, result.unexplained_error) = unexplained.mean_and_error();
  for (const auto& [key, differences] : layers) {
    if (differences.values.size() < kLeastPairs) {
      continue;
    }
    const auto [mean, error] = differences.mean_and_error();
    result.layers.push_back(
        {key.text, mean, error, variants.at(key).first, variants.at(key).second});
  }
  std::stable_sort(
      result.layers.begin(), result.layers.end(), [](const auto& one, const auto& two) {
        return std::abs(one.seconds) > std::abs(two.seconds);
      });
  return result;
}

}  // namespace plumb
