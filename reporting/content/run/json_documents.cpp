// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/run/json_documents.hpp"

#include <ostream>

#include "harness/base/timestamp.hpp"
#include "reporting/content/run/documents.hpp"

namespace plumb {
namespace {

Json shape_list(const std::vector<std::optional<TensorType>>& types) {
  Json shapes = Json::array();
  for (const auto& type : types) {
    shapes.push_back(type ? Json(type->dims) : Json());
  }
  return shapes;
}

std::string_view role_text(Layer::Role role) {
  switch (role) {
    case Layer::Role::kCompute:
      return "compute";
    case Layer::Role::kView:
      return "view";
    case Layer::Role::kFolded:
      return "folded";
    case Layer::Role::kUnsupported:
      return "unsupported";
  }
  return "";
}

Json shape_json(const Value& value) {
  return value.shape_known ? Json(value.type.dims) : Json();
}

Json layer_json(const Graph& graph, const Layer& layer) {
  Json inputs = Json::array();
  for (const auto& input : layer.inputs) {
    inputs.push_back(input ? shape_json(graph.values[*input]) : Json());
  }
  Json outputs = Json::array();
  for (const ValueId output : layer.outputs) {
    outputs.push_back(shape_json(graph.values[output]));
  }
  Json row{
      {"name", layer.name},
      {"op", layer.onnx_op},
      {"key", layer.key.text},
      {"role", role_text(layer.role)},
      {"folded", layer.role == Layer::Role::kFolded},
      {"macs", layer.cost.macs},
      {"bytes", (layer.cost.input_bytes + layer.cost.weight_bytes + layer.cost.output_bytes).value},
      {"input_shapes", inputs},
      {"output_shapes", outputs}};
  if (!layer.reason.empty()) {
    row["reason"] = layer.reason;
  }
  return row;
}

Json tensor_json(const Value& value) {
  return Json{{"name", value.name},
              {"shape", shape_json(value)},
              {"dtype", value.type_known ? Json(to_text(value.type.dtype)) : Json()}};
}

}  // namespace

void write_json(const Json& document, std::ostream& out) {
  out << document_text(document);
}

Json model_list_document(std::span<const ModelListing> models) {
  Json rows = Json::array();
  for (const ModelListing& model : models) {
    rows.push_back({{"name", model.name},
                    {"source", model.source},
                    {"task", model.task},
                    {"batch", "any"},
                    {"dims", model.axes},
                    {"mlperf_rounds", model.rounds},
                    {"deviations", model.deviations}});
  }
  Json result = new_document();
  result["models"] = rows;
  return result;
}

Json model_document(const Graph& graph) {
  const GraphTotals sums = totals(graph);
  Json result = new_document();
  result["name"] = graph.name;
  result["opset"] = graph.opset;
  result["layers"] = sums.layers;
  result["folded_layers"] = sums.folded_layers;
  result["live_layers"] = sums.layers - sums.folded_layers;
  result["unique_layers"] = sums.unique_layers;
  result["macs"] = sums.macs;
  result["macs_saturated"] = sums.macs_saturated;
  result["parameters"] = graph.parameters;
  result["weight_bytes"] = graph.weight_bytes.value;
  result["ops"] = sums.ops;
  result["inputs"] = Json::array();
  result["outputs"] = Json::array();
  for (const ValueId input : graph.inputs) {
    result["inputs"].push_back(tensor_json(graph.values[input]));
  }
  for (const ValueId output : graph.outputs) {
    result["outputs"].push_back(tensor_json(graph.values[output]));
  }
  result["layer_list"] = Json::array();
  for (const Layer& layer : graph.layers) {
    result["layer_list"].push_back(layer_json(graph, layer));
  }
  return result;
}

Json runs_document(std::span<const RunRecord> runs) {
  Json result = new_document();
  result["runs"] = Json::array();
  result["environments"] = Json::object();
  for (const RunRecord& run : runs) {
    result["runs"].push_back(run_json(run));
    result["environments"].update(environments_json(run.header.environment));
  }
  return result;
}

Json environment_document(const Environment& environment) {
  Json result = new_document();
  result["environment"] = environment.id();
  result["environments"] = environments_json(environment);
  return result;
}

Json layer_document(const LayerKey& key,
                    std::span<const Measurement> rows,
                    const Environment& environment) {
  Json result = new_document();
  result["key"] = key.text;
  const LayerSpec spec = parse_key(key);
  const LayerCost cost = cost_of(spec);
  result["macs"] = cost.macs;
  result["flops"] = cost.flops.value;
  result["input_shapes"] = shape_list(spec.inputs);
  result["environment"] = environment.id();
  result["environments"] = environments_json(environment);
  result["rows"] = Json::array();
  for (const Measurement& row : rows) {
    const SampleSummary time = row.corrected();
    Json entry{{"variant", row.variant},
               {"cache", to_text(row.cache)},
               {"purpose", to_text(row.purpose)},
               {"outcome", to_text(row.outcome.kind)},
               {"reason", row.outcome.reason},
               {"library_choice", row.library_choice},
               {"reference_implementation", row.reference_implementation},
               {"workspace_bytes", row.workspace.value},
               {"creation_seconds", seconds_or_null(row.creation)},
               {"reorder_seconds", seconds_or_null(row.reorder)},
               {"disturbed", row.disturbance.disturbed}};
    if (time.n > 0) {
      entry["n"] = time.n;
      entry["median_seconds"] = time.median.count();
      const bool known = has_interval(time);
      entry["low"] = known ? Json(time.interval.low.count()) : Json();
      entry["high"] = known ? Json(time.interval.high.count()) : Json();
      entry["min_seconds"] = time.min.count();
      entry["p90_seconds"] = time.p90.count();
      entry["median_raw_seconds"] = row.summary.median.count();
      entry["floor_seconds"] = row.floor.count();
    }
    if (row.maximum_error) {
      entry["maximum_error"] = *row.maximum_error;
      entry["output_hash"] = row.output_hash;
    }
    if (!row.attributes.empty()) {
      entry["attributes"] = row.attributes;
    }
    for (const auto& [name, reading] : row.readings) {
      entry["readings"][name] = {{"median", reading.median},
                                 {"low", reading.low},
                                 {"high", reading.high},
                                 {"n", reading.n}};
    }
    result["rows"].push_back(std::move(entry));
  }
  return result;
}

}  // namespace plumb
