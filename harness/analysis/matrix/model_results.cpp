// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/matrix/model_results.hpp"

#include <fmt/format.h>

namespace plumb::analysis {
namespace {

std::optional<Estimate> time_of(const Bound& bound) {
  const std::optional<Seconds> time = known_time(bound);
  return time ? make_estimate(*time, bound.interval) : std::nullopt;
}

ModelResults::EndToEnd end_to_end_of(const ExecutionTime& execution) {
  ModelResults::EndToEnd result{.mode = execution.mode,
                                .outcome = execution.outcome,
                                .seconds = {},
                                .p99_seconds = {},
                                .disturbed = execution.disturbed};
  if (execution.samples > 1) {
    result.seconds = make_estimate(execution.median, execution.interval);
    result.p99_seconds = make_estimate(execution.p99.count(), {}, {});
  } else if (execution.samples == 1) {
    result.seconds = make_estimate(execution.median.count(), {}, {});
  }
  return result;
}

ModelResults::Prediction prediction_of(const WhatIfResult& whatif) {
  ModelResults::Prediction result{whatif.name, whatif.execution_mode, {}, whatif.why_not};
  if (predicted_saving(whatif)) {
    const auto before = make_estimate(*whatif.baseline, whatif.baseline_interval);
    const auto after = make_estimate(*whatif.predicted, whatif.predicted_interval);
    if (before && after) {
      result.speedup = ratio_of(*before, *after);
    }
  }
  return result;
}

std::string lacks_of(const ModelBounds& model) {
  if (model.measured_layers >= model.total_layers) {
    return {};
  }
  std::string text =
      fmt::format("{} of {} layers have a time", model.measured_layers, model.total_layers);
  if (!model.unsupported.empty()) {
    const ModelBounds::Unsupported& first = model.unsupported.front();
    text += fmt::format("; not {}: {}", first.layer, first.reason);
  }
  return text;
}

}  // namespace

ModelResults summarize_results(const ModelBounds& bounds, const ModelWhatIfs& whatifs) {
  ModelResults results;
  results.instance = bounds.instance;
  results.lacks = lacks_of(bounds);
  for (const Bound& bound : bounds.bounds) {
    results.bounds.push_back({bound.kind, bound.mode, bound.complete, time_of(bound)});
  }
  for (const ExecutionTime& execution : bounds.executions) {
    results.executions.push_back(end_to_end_of(execution));
  }
  for (const WhatIfResult& whatif : whatifs.whatifs) {
    results.predictions.push_back(prediction_of(whatif));
  }
  return results;
}

}  // namespace plumb::analysis
