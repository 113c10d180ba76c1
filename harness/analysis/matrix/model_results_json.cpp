// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/analysis/matrix/model_results.hpp"
#include "harness/base/error.hpp"
#include "harness/base/json_text.hpp"
#include "harness/results/json_object.hpp"

namespace plumb::analysis {
namespace {

using nlohmann::json;
using results::JsonObject;

constexpr std::size_t kMaxModels = 100'000;
constexpr std::size_t kMaxNumbers = 1'000;  // of a model: bounds, modes, what-ifs
constexpr std::int64_t kMaxExtent = std::int64_t{1} << 40U;

/// Returns [value, low, high]: an array is read several times as fast as an object.
json estimate_json(const std::optional<Estimate>& estimate) {
  return estimate ? json::array({estimate->value,
                                 results::or_null(estimate->low),
                                 results::or_null(estimate->high)})
                  : json();
}

std::optional<Estimate> read_estimate(const JsonObject& object, const char* name) {
  if (!object.has(name)) {
    return std::nullopt;
  }
  const json& parts = object.array(name, 3);
  const auto number = [&](std::size_t i) {
    return parts[i].is_null() ? std::nullopt : std::optional(parts[i].get<double>());
  };
  if (parts.size() != 3 || !parts[0].is_number() ||
      !std::all_of(parts.begin(), parts.end(), [](const json& part) {
        return part.is_number() || part.is_null();
      })) {
    throw Error(Error::Kind::kUser,
                std::string("field '") + name + "' is not an array of three numbers");
  }
  return make_estimate(*number(0), number(1), number(2));
}

json model_json(const ModelResults& model) {
  json dims = json::array();
  for (const auto& [axis, extent] : model.instance.dims) {
    dims.push_back({{"axis", axis}, {"extent", extent}});
  }
  json bounds = json::array();
  for (const ModelResults::BoundTime& bound : model.bounds) {
    bounds.push_back({{"kind", to_text(bound.kind)},
                      {"mode", bound.mode},
                      {"complete", bound.complete},
                      {"seconds", estimate_json(bound.seconds)}});
  }
  json executions = json::array();
  for (const ModelResults::EndToEnd& each : model.executions) {
    executions.push_back({{"mode", each.mode},
                          {"outcome", to_text(each.outcome.kind)},
                          {"reason", each.outcome.reason},
                          {"seconds", estimate_json(each.seconds)},
                          {"p99_seconds", estimate_json(each.p99_seconds)},
                          {"disturbed", each.disturbed}});
  }
  json predictions = json::array();
  for (const ModelResults::Prediction& each : model.predictions) {
    predictions.push_back({{"name", each.name},
                           {"mode", each.mode},
                           {"speedup", estimate_json(each.speedup)},
                           {"why_not", each.why_not}});
  }
  json result{{"model", model.instance.model},
              {"batch", model.instance.batch},
              {"dtype", model.instance.dtype},
              {"dims", std::move(dims)},
              {"bounds", std::move(bounds)},
              {"executions", std::move(executions)},
              {"predictions", std::move(predictions)},
              {"lacks", model.lacks}};
  if (!model.instance.training.empty()) {
    result["training"] = model.instance.training;
  }
  return result;
}

results::Outcome read_outcome(const JsonObject& object) {
  const std::string& word = object.text("outcome");
  const auto kind = results::parse_outcome_kind(word);
  if (!kind) {
    throw Error(Error::Kind::kUser, "field 'outcome' has the unknown word '" + word + "'");
  }
  return {*kind, object.text("reason")};
}

results::BoundKind read_bound_kind(const JsonObject& object) {
  const std::string& word = object.text("kind");
  const auto kind = results::parse_bound_kind(word);
  if (!kind) {
    throw Error(Error::Kind::kUser, "field 'kind' has the unknown word '" + word + "'");
  }
  return *kind;
}

ModelInstance read_instance(const JsonObject& object) {
  ModelInstance instance{.model = object.text("model"),
                         .batch = object.integer("batch", 0, kMaxExtent),
                         .dtype = object.text("dtype"),
                         .dims = {},
                         .training = object.text_or_empty("training")};
  for (const json& entry : object.array("dims", kMaxNumbers)) {
    const JsonObject axis(entry);
    instance.dims[axis.text("axis")] = axis.integer("extent", 0, kMaxExtent);
  }
  return instance;
}

ModelResults read_model(const JsonObject& object) {
  ModelResults model;
  model.instance = read_instance(object);
  model.lacks = object.text("lacks");
  for (const json& entry : object.array("bounds", kMaxNumbers)) {
    const JsonObject bound(entry);
    model.bounds.push_back({read_bound_kind(bound),
                            bound.text("mode"),
                            bound.boolean("complete"),
                            read_estimate(bound, "seconds")});
  }
  for (const json& entry : object.array("executions", kMaxNumbers)) {
    const JsonObject each(entry);
    model.executions.push_back({each.text("mode"),
                                read_outcome(each),
                                read_estimate(each, "seconds"),
                                read_estimate(each, "p99_seconds"),
                                each.boolean("disturbed")});
  }
  for (const json& entry : object.array("predictions", kMaxNumbers)) {
    const JsonObject each(entry);
    model.predictions.push_back({each.text("name"),
                                 each.text("mode"),
                                 read_estimate(each, "speedup"),
                                 each.text("why_not")});
  }
  return model;
}

}  // namespace

std::string to_json(std::span<const ModelResults> models) {
  json document{{"models", json::array()}};
  for (const ModelResults& model : models) {
    document["models"].push_back(model_json(model));
  }
  return json_text(document);
}

std::vector<ModelResults> model_results_from_json(std::string_view json_document) {
  std::vector<ModelResults> models;
  const json document = results::parse_json(json_document);
  for (const json& entry : JsonObject(document).array("models", kMaxModels)) {
    models.push_back(read_model(JsonObject(entry)));
  }
  return models;
}

}  // namespace plumb::analysis
