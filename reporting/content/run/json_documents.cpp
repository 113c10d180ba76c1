// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/run/json_documents.hpp"

#include <ostream>

#include "harness/base/timestamp.hpp"

namespace plumb::reporting {
namespace {

analysis::Json shape_list(const std::vector<std::optional<model::TensorType>>& types) {
  analysis::Json shapes = analysis::Json::array();
  for (const auto& type : types) {
    shapes.push_back(type ? analysis::Json(type->dims) : analysis::Json());
  }
  return shapes;
}

std::string_view role_text(model::Layer::Role role) {
  switch (role) {
    case model::Layer::Role::kCompute:
      return "compute";
    case model::Layer::Role::kView:
      return "view";
    case model::Layer::Role::kFolded:
      return "folded";
    case model::Layer::Role::kUnsupported:
      return "unsupported";
  }
  return "";
}

analysis::Json shape_json(const model::Value& value) {
  return value.shape_known ? analysis::Json(value.type.dims) : analysis::Json();
}

analysis::Json layer_json(const model::Graph& graph, const model::Layer& layer) {
  analysis::Json inputs = analysis::Json::array();
  for (const auto& input : layer.inputs) {
    inputs.push_back(input ? shape_json(graph.values[*input]) : analysis::Json());
  }
  analysis::Json outputs = analysis::Json::array();
  for (const model::ValueId output : layer.outputs) {
    outputs.push_back(shape_json(graph.values[output]));
  }
  analysis::Json row{
      {"name", layer.name},
      {"op", layer.onnx_op},
      {"key", layer.key.text},
      {"role", role_text(layer.role)},
      {"folded", layer.role == model::Layer::Role::kFolded},
      {"macs", layer.cost.macs},
      {"bytes", (layer.cost.input_bytes + layer.cost.weight_bytes + layer.cost.output_bytes).value},
      {"input_shapes", inputs},
      {"output_shapes", outputs}};
  if (!layer.reason.empty()) {
    row["reason"] = layer.reason;
  }
  return row;
}

analysis::Json tensor_json(const model::Value& value) {
  return analysis::Json{
      {"name", value.name},
      {"shape", shape_json(value)},
      {"dtype", value.type_known ? analysis::Json(to_text(value.type.dtype)) : analysis::Json()}};
}

}  // namespace

void write_json(const analysis::Json& document, std::ostream& out) {
  out << analysis::document_text(document);
}

analysis::Json model_list_document(std::span<const ModelListing> models) {
  analysis::Json rows = analysis::Json::array();
  for (const ModelListing& model : models) {
    rows.push_back({{"name", model.name},
                    {"source", model.source},
                    {"task", model.task},
                    {"batch", "any"},
                    {"dims", model.axes},
                    {"mlperf_rounds", model.rounds},
                    {"deviations", model.deviations}});
  }
  analysis::Json result = analysis::new_document();
  result["models"] = rows;
  return result;
}

analysis::Json model_document(const model::Graph& graph) {
  const model::Graph::Totals sums = model::totals(graph);
  analysis::Json result = analysis::new_document();
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
  result["inputs"] = analysis::Json::array();
  result["outputs"] = analysis::Json::array();
  for (const model::ValueId input : graph.inputs) {
    result["inputs"].push_back(tensor_json(graph.values[input]));
  }
  for (const model::ValueId output : graph.outputs) {
    result["outputs"].push_back(tensor_json(graph.values[output]));
  }
  result["layer_list"] = analysis::Json::array();
  for (const model::Layer& layer : graph.layers) {
    result["layer_list"].push_back(layer_json(graph, layer));
  }
  return result;
}

analysis::Json runs_document(std::span<const results::RunRecord> runs) {
  analysis::Json result = analysis::new_document();
  result["runs"] = analysis::Json::array();
  result["environments"] = analysis::Json::object();
  for (const results::RunRecord& run : runs) {
    result["runs"].push_back(analysis::run_json(run));
    result["environments"].update(analysis::environments_json(run.header.environment));
  }
  return result;
}

analysis::Json environment_document(const results::Environment& environment) {
  analysis::Json result = analysis::new_document();
  result["environment"] = environment.id();
  result["environments"] = analysis::environments_json(environment);
  return result;
}

analysis::Json layer_document(const model::LayerKey& key,
                              std::span<const results::Measurement> rows,
                              const results::Environment& environment) {
  analysis::Json result = analysis::new_document();
  result["key"] = key.text;
  const model::LayerSpec spec = model::parse_key(key);
  const model::LayerCost cost = model::compute_cost(spec);
  result["macs"] = cost.macs;
  result["flops"] = cost.flops.value;
  result["input_shapes"] = shape_list(spec.inputs);
  result["environment"] = environment.id();
  result["environments"] = analysis::environments_json(environment);
  result["rows"] = analysis::Json::array();
  for (const results::Measurement& row : rows) {
    const measure::SampleSummary time = row.corrected();
    analysis::Json entry{{"variant", row.variant},
                         {"cache", to_text(row.cache)},
                         {"purpose", to_text(row.purpose)},
                         {"outcome", to_text(row.outcome.kind)},
                         {"reason", row.outcome.reason},
                         {"library_choice", row.library_choice},
                         {"reference_implementation", row.reference_implementation},
                         {"workspace_bytes", row.workspace.value},
                         {"creation_seconds", analysis::seconds_or_null(row.creation)},
                         {"reorder_seconds", analysis::seconds_or_null(row.reorder)},
                         {"disturbed", row.disturbance.disturbed}};
    if (time.n > 0) {
      entry["n"] = time.n;
      entry["median_seconds"] = time.median.count();
      const bool known = measure::has_interval(time);
      entry["low"] = known ? analysis::Json(time.interval.low.count()) : analysis::Json();
      entry["high"] = known ? analysis::Json(time.interval.high.count()) : analysis::Json();
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

}  // namespace plumb::reporting
