// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/matrix/model_results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "harness/base/error.hpp"
#include "harness/stats/geometric_mean.hpp"

namespace plumb::analysis {
namespace {

bool is_positive(double value) {
  return std::isfinite(value) && value > 0.0;
}

/// Returns e to the root of the sum of both squares.
double in_quadrature(double one, double other) {
  return std::exp(std::hypot(std::log(one), std::log(other)));
}

Estimate span_of(double value, const Estimate& one, const Estimate& other) {
  return {value,
          std::min(one.low.value_or(one.value), other.low.value_or(other.value)),
          std::max(one.high.value_or(one.value), other.high.value_or(other.value))};
}

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

std::optional<Estimate> make_estimate(double value,
                                      std::optional<double> low,
                                      std::optional<double> high) {
  if (!is_positive(value)) {
    return std::nullopt;
  }
  const bool known =
      low && high && is_positive(*low) && is_positive(*high) && *low <= value && value <= *high;
  return known ? Estimate{value, low, high} : Estimate{value, {}, {}};
}

std::optional<Estimate> make_estimate(Seconds time, const measure::Interval& interval) {
  return make_estimate(time.count(), interval.low.count(), interval.high.count());
}

Estimate ratio_of(const Estimate& above, const Estimate& below) {
  Estimate ratio{above.value / below.value, {}, {}};
  if (above.low && below.low) {
    ratio.low = ratio.value / in_quadrature(above.value / *above.low, *below.high / below.value);
    ratio.high = ratio.value * in_quadrature(*above.high / above.value, below.value / *below.low);
  }
  return ratio;
}

Estimate rate_of(double factor, const Estimate& value) {
  Estimate rate{factor / value.value, {}, {}};
  if (value.low) {
    rate.low = factor / *value.high;
    rate.high = factor / *value.low;
  }
  return rate;
}

Estimate middle_of(std::span<const Estimate> runs) {
  PLUMB_CHECK(!runs.empty());
  if (runs.size() == 1) {
    return runs.front();
  }
  std::vector<double> values;
  std::transform(runs.begin(), runs.end(), std::back_inserter(values), [](const Estimate& run) {
    return run.value;
  });
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  const double middle =
      values.size() % 2 == 1 ? values[half] : std::sqrt(values[half - 1]) * std::sqrt(values[half]);
  if (runs.size() == 2) {
    return span_of(middle, runs.front(), runs.back());
  }
  const stats::GeometricMean mean = *stats::geometric_mean(values);
  const double reach = *mean.high / mean.mean;
  return {middle, middle / reach, middle * reach};
}

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
