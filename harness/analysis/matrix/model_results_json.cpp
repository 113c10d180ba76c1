// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "harness/analysis/matrix/model_results.hpp"
#include "harness/base/error.hpp"
#include "harness/results/json_fields.hpp"

namespace plumb::analysis {
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

}  // namespace

/// Axis of a model and its extent.
struct AxisExtent {
  std::string axis;
  std::int64_t extent = 0;
};

/// Models of a run as a record holds them.
struct ModelResultsList {
  std::vector<ModelResults> models;
};

template <typename Fields>
void describe(Fields& fields, Described<Fields, AxisExtent>& value) {
  fields("axis", value.axis);
  fields("extent", value.extent, kExtent);
}

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

template <typename Fields>
void describe(Fields& fields, Described<Fields, ModelResultsList>& value) {
  fields("models", value.models, kModels);
}

std::string to_json(std::span<const ModelResults> models) {
  return results::described_text(ModelResultsList{{models.begin(), models.end()}});
}

std::vector<ModelResults> model_results_from_json(std::string_view json_document) {
  return results::value_from_text<ModelResultsList>(json_document).models;
}

}  // namespace plumb::analysis
