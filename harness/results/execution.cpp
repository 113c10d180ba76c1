// SPDX-License-Identifier: Apache-2.0
#include "harness/results/execution.hpp"

#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/json_text.hpp"
#include "harness/results/json_object.hpp"
#include "harness/results/results_json.hpp"

namespace plumb::results {

namespace {

constexpr std::size_t kMaxLayers = 1'000'000;

nlohmann::json json_of(const TimeInContext& time) {
  return {{"median_seconds", time.median.count()},
          {"low_seconds", time.interval.low.count()},
          {"high_seconds", time.interval.high.count()}};
}

std::optional<TimeInContext> in_context_from(const JsonObject& object) {
  if (!object.has("in_turn")) {
    return std::nullopt;
  }
  const JsonObject time = object.object("in_turn");
  return TimeInContext{time.seconds("median_seconds"),
                       {time.seconds("low_seconds"), time.seconds("high_seconds")}};
}

nlohmann::json json_of(const ExecutedLayer& layer) {
  nlohmann::json value{{"layers", layer.layers},
                       {"key", layer.key.text},
                       {"variant", layer.variant},
                       {"seconds", layer.seconds.count()},
                       {"reorder_seconds", layer.reorder.count()},
                       {"reorders", layer.reorders}};
  if (layer.in_context) {
    value["in_turn"] = json_of(*layer.in_context);
  }
  return value;
}

ExecutedLayer executed_layer_from(const nlohmann::json& value) {
  const JsonObject object(value);
  ExecutedLayer layer;
  for (const nlohmann::json& id : object.array("layers", kMaxLayers)) {
    if (!id.is_number_unsigned()) {
      throw Error(Error::Kind::kUser,
                  "field 'layers' has an element that is not the number of a layer");
    }
    layer.layers.push_back(id.get<model::LayerId>());
  }
  layer.key.text = object.text("key");
  layer.variant = object.text("variant");
  layer.seconds = object.seconds("seconds");
  layer.reorder = object.seconds("reorder_seconds");
  layer.reorders = object.integer("reorders", 0, JsonObject::kHighest);
  layer.in_context = in_context_from(object);
  return layer;
}

}  // namespace

std::string to_json(const Execution& execution) {
  nlohmann::json layers = nlohmann::json::array();
  for (const ExecutedLayer& layer : execution.layers) {
    layers.push_back(json_of(layer));
  }
  nlohmann::json value{{"mode", execution.mode},
                       {"scenario", execution.scenario},
                       {"memory_bytes", execution.memory.value},
                       {"reorders", execution.reorders},
                       {"layers", std::move(layers)},
                       {"row", nlohmann::json::parse(to_json(execution.row))}};
  if (execution.in_context) {
    value["in_turn"] = json_of(*execution.in_context);
  }
  return json_text(value);
}

Execution execution_from_json(std::string_view text) {
  const nlohmann::json value = parse_json(text);
  const JsonObject object(value);
  Execution execution;
  execution.mode = object.text("mode");
  execution.scenario = object.text("scenario");
  execution.memory.value = object.integer("memory_bytes", 0, JsonObject::kHighest);
  execution.reorders = object.integer("reorders", 0, JsonObject::kHighest);
  if (object.has("layers")) {  // stores from before there were any have none
    for (const nlohmann::json& layer : object.array("layers", kMaxLayers)) {
      execution.layers.push_back(executed_layer_from(layer));
    }
  }
  execution.in_context = in_context_from(object);
  static_cast<void>(object.object("row"));  // is there, and an object
  execution.row = measurement_from_json(value.at("row").dump());
  return execution;
}

}  // namespace plumb::results
