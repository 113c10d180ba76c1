// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/matrix/model_results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "harness/base/error.hpp"
#include "harness/results/json_fields.hpp"
#include "harness/stats/statistical_tests.hpp"

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

namespace {

using nlohmann::json;
using results::Described;
using results::FieldLimits;

constexpr FieldLimits kModels{.elements = 100'000};
constexpr FieldLimits kNumbers{.elements = 1'000};  // of a model: bounds, modes, what-ifs
constexpr FieldLimits kExtent{.high = std::int64_t{1} << 40U};

/// Returns [value, low, high]: an array is read several times as fast as an object.
json estimate_json(const std::optional<Estimate>& estimate) {
  return estimate ? json::array({estimate->value,
                                 results::json_of(estimate->low),
                                 results::json_of(estimate->high)})
                  : json();
}

std::optional<Estimate> estimate_from(const json& parts, const char* name) {
  if (parts.is_null()) {
    return std::nullopt;
  }
  const auto number = [&](std::size_t i) {
    return parts[i].is_null() ? std::nullopt : std::optional(parts[i].get<double>());
  };
  if (!parts.is_array() || parts.size() != 3 || !parts[0].is_number() ||
      !std::all_of(parts.begin(), parts.end(), [](const json& part) {
        return part.is_number() || part.is_null();
      })) {
    throw Error(Error::Kind::kUser,
                fmt::format("field '{}' is not an array of three numbers", name));
  }
  return make_estimate(*number(0), number(1), number(2));
}

/// Axis of a model and its extent.
struct AxisExtent {
  std::string axis;
  std::int64_t extent = 0;
};

template <typename Fields>
void describe(Fields& fields, Described<Fields, AxisExtent>& value) {
  fields("axis", value.axis);
  fields("extent", value.extent, kExtent);
}

}  // namespace

template <typename Fields>
void describe(Fields& fields, Described<Fields, ModelResults::BoundTime>& value) {
  fields("kind", value.kind, results::parse_bound_kind);
  fields("mode", value.mode);
  fields("complete", value.complete);
  fields.converted("seconds", value.seconds, estimate_json, estimate_from);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, ModelResults::EndToEnd>& value) {
  fields("mode", value.mode);
  fields("outcome", value.outcome.kind, results::parse_outcome_kind);
  fields("reason", value.outcome.reason);
  fields.converted("seconds", value.seconds, estimate_json, estimate_from);
  fields.converted("p99_seconds", value.p99_seconds, estimate_json, estimate_from);
  fields("disturbed", value.disturbed);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, ModelResults::Prediction>& value) {
  fields("name", value.name);
  fields("mode", value.mode);
  fields.converted("speedup", value.speedup, estimate_json, estimate_from);
  fields("why_not", value.why_not);
}

template <typename Fields>
void describe(Fields& fields, Described<Fields, ModelResults>& value) {
  std::vector<AxisExtent> dims;
  for (const auto& [axis, extent] : value.instance.dims) {
    dims.push_back({axis, extent});
  }
  fields("model", value.instance.model);
  fields("batch", value.instance.batch, kExtent);
  fields("dtype", value.instance.dtype);
  fields("dims", dims, kNumbers);
  fields.unless_empty("training", value.instance.training);
  fields("bounds", value.bounds, kNumbers);
  fields("executions", value.executions, kNumbers);
  fields("predictions", value.predictions, kNumbers);
  fields("lacks", value.lacks);
  if constexpr (Fields::kReads) {
    for (const AxisExtent& dim : dims) {
      value.instance.dims[dim.axis] = dim.extent;
    }
  }
}

namespace {

/// Models of a run as a record holds them.
struct ModelResultsList {
  std::vector<ModelResults> models;
};

template <typename Fields>
void describe(Fields& fields, Described<Fields, ModelResultsList>& value) {
  fields("models", value.models, kModels);
}

}  // namespace

std::string to_json(std::span<const ModelResults> models) {
  return results::described_text(ModelResultsList{{models.begin(), models.end()}});
}

std::vector<ModelResults> model_results_from_json(std::string_view json_document) {
  return results::value_from_text<ModelResultsList>(json_document).models;
}

}  // namespace plumb::analysis
