// SPDX-License-Identifier: Apache-2.0
#include "harness/analyze/confirmation.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/analyze/comparison_verdict.hpp"
#include "harness/analyze/process_pool.hpp"

namespace plumb {
namespace {

constexpr double kConfirmingLevel = 0.02;  // two-sided: 1 % in the direction of the suspicion
constexpr std::string_view kLayers = "layers/";

bool is_confirmed(const MetricComparison& suspect, const MetricComparison* again) {
  if (again == nullptr || !again->p || !again->ratio || !suspect.ratio) {
    return false;
  }
  const double change = *again->ratio - 1.0;
  const double floor = again->floor ? again->floor->relative : 0.0;
  return *again->p < kConfirmingLevel && change >= floor &&
         (change > 0.0) == (*suspect.ratio > 1.0);
}

}  // namespace

double largest_share(const RunSide& side, const LayerKey& key) {
  double largest = 0.0;
  const auto take_in = [&](Seconds of_key, Seconds all) {
    largest = all > Seconds(0.0) ? std::max(largest, of_key / all) : largest;
  };
  for (const auto& [subject, executions] : side.executions) {
    for (const ReplicatedExecution& execution : replicated_executions(executions)) {
      Seconds all{};
      Seconds of_key{};
      for (const ExecutedLayer& layer : execution.told->layers) {
        all += layer.seconds + layer.reorder;
        of_key += layer.key == key ? layer.seconds + layer.reorder : Seconds(0.0);
      }
      take_in(of_key, all);
    }
  }
  for (const ModelBounds& model : side.models) {
    Seconds all{};
    Seconds of_key{};
    for (const CoverStep& step : model.cover) {
      const Seconds time = step.time ? step.time->time.median : Seconds(0.0);
      all += time;
      of_key += step.key == key ? time : Seconds(0.0);
    }
    take_in(of_key, all);
  }
  return largest;
}

Suspects find_suspects(const RunComparison& comparison, const RunSide& candidate) {
  Suspects suspects;
  for (const MetricComparison& metric : comparison.metrics) {
    if (metric.verdict != ComparisonVerdict::kRegressed || !metric.ratio) {
      continue;
    }
    if (metric.kind == "layer") {
      const LayerKey key{metric.series.substr(kLayers.size())};
      if (metric.decides || largest_share(candidate, key) >= kMinDecidingShare) {
        suspects.series.insert(metric.series);
        suspects.layers.insert(key);
      }
    } else if (metric.kind == "end_to_end" && metric.decides) {
      suspects.series.insert(metric.series);
      suspects.models.insert(metric.model);
    }
  }
  return suspects;
}

void conclude_confirmation(const Suspects& suspects,
                           const RunComparison& again,
                           RunComparison& comparison) {
  for (MetricComparison& metric : comparison.metrics) {
    const bool suspect = suspects.series.contains(metric.series);
    if (!suspect && !(metric.verdict == ComparisonVerdict::kRegressed && metric.decides)) {
      continue;
    }
    const auto found =
        std::find_if(again.metrics.begin(), again.metrics.end(), [&](const auto& other) {
          return other.series == metric.series;
        });
    const MetricComparison* const fresh = found == again.metrics.end() ? nullptr : &*found;
    metric.confirmed = suspect && is_confirmed(metric, fresh);
    if (*metric.confirmed) {
      std::vector<Cause> causes = std::move(metric.causes);
      metric = *fresh;
      metric.causes = std::move(causes);
      metric.confirmed = true;
      metric.decides = true;
      metric.verdict = ComparisonVerdict::kRegressed;
    } else {
      metric.verdict = ComparisonVerdict::kInconclusive;
      metric.decides = false;
      metric.reason = fresh != nullptr && fresh->ratio
                          ? fmt::format(
                                "not confirmed: in fresh processes it took {:.6g} s, "
                                "{:+.1f} % of the baseline",
                                fresh->candidate,
                                100.0 * (*fresh->ratio - 1.0))
                          : "not confirmed: it was not measured again";
    }
  }
  put_changes_first(comparison.metrics);
  comparison.verdict = verdict_of_all(comparison.metrics);
}

}  // namespace plumb
