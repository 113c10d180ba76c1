// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/run/json_documents.hpp"

#include <ostream>

#include "harness/base/timestamp.hpp"
#include "reporting/content/run/documents.hpp"
#include "reporting/content/run/load_rows.hpp"
#include "reporting/content/run/report_writers.hpp"
#include "reporting/content/run/single_layers.hpp"

namespace plumb {
namespace {

Json interval_or_null(const std::optional<Seconds>& value) {
  return value ? Json(value->count()) : Json();
}

Json document() {
  return Json{{"schema_version", kJsonSchemaVersion}};
}

/// Returns the facts of an environment under its id, for a document that names the id.
Json environments(const Environment& environment) {
  return Json{
      {environment.id(), {{"identity", environment.identity}, {"facts", environment.facts}}}};
}

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

Json layer_json(const Graph& graph, const Layer& layer) {
  Json inputs = Json::array();
  for (const auto& input : layer.inputs) {
    inputs.push_back(input ? Json(graph.values[*input].type.dims) : Json());
  }
  Json outputs = Json::array();
  for (const ValueId output : layer.outputs) {
    outputs.push_back(graph.values[output].type.dims);
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
  return Json{
      {"name", value.name}, {"shape", value.type.dims}, {"dtype", to_text(value.type.dtype)}};
}

}  // namespace

void write_json(const Json& document, std::ostream& out) {
  out << document.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

Json differences_json(const ExecutionTime& execution) {
  Json rows = Json::array();
  for (const LayerInModel& layer : execution.differences) {
    rows.push_back({{"layer", layer.name},
                    {"key", layer.key.text},
                    {"variant", layer.variant},
                    {"inside_seconds", layer.inside.count()},
                    {"alone_seconds", layer.alone.count()}});
  }
  return rows;
}

Json executions_json(const ModelBounds& model) {
  Json rows = Json::array();
  for (const ExecutionTime& execution : model.executions) {
    const bool known = execution.samples > 0;
    const auto seconds = [&](Seconds time) { return known ? Json(time.count()) : Json(); };
    rows.push_back({{"mode", execution.mode},
                    {"scenario", execution.scenario},
                    {"outcome", to_text(execution.outcome.kind)},
                    {"reason", execution.outcome.reason},
                    {"median_seconds", seconds(execution.median)},
                    {"low", seconds(execution.interval.low)},
                    {"high", seconds(execution.interval.high)},
                    {"p90_seconds", seconds(execution.p90)},
                    {"p99_seconds", seconds(execution.p99)},
                    {"samples", execution.samples},
                    {"memory_bytes", execution.memory.value},
                    {"reorders", execution.reorders},
                    {"differences", differences_json(execution)},
                    {"load", Json()}});
  }
  for (const ScenarioResult& load : model.loads) {
    rows.push_back(load_json(load));
  }
  return rows;
}

Json bounds_json(const ModelBounds& model, Timestamp now) {
  Json bounds = Json::array();
  for (const Bound& bound : model.bounds) {
    const bool known = known_time(bound).has_value();
    Json row{{"kind", bound.kind},
             {"mode", bound.mode},
             {"seconds", known ? Json(bound.seconds.count()) : Json()},
             {"low", known ? Json(bound.interval.low.count()) : Json()},
             {"high", known ? Json(bound.interval.high.count()) : Json()},
             {"complete", bound.complete},
             {"oldest_row_seconds", Json()}};
    if (bound.oldest_row) {
      row["oldest_row_seconds"] = Seconds(now - *bound.oldest_row).count();
    }
    bounds.push_back(std::move(row));
  }
  Json unsupported = Json::array();
  for (const auto& layer : model.unsupported) {
    unsupported.push_back({{"layer", layer.layer}, {"key", layer.key}, {"reason", layer.reason}});
  }
  Json path = Json::array();
  for (const PartitionStep& step : model.critical_steps) {
    path.push_back({{"key", step.key.text},
                    {"layers", step.layers},
                    {"rewrite", step.rewrite},
                    {"seconds", step.time ? Json(step.time->time.median.count()) : Json()}});
  }
  return Json{{"model", model.instance.model},
              {"batch", model.instance.batch},
              {"dtype", model.instance.dtype},
              {"dims", model.instance.dims},
              {"measured_layers", model.measured_layers},
              {"total_layers", model.total_layers},
              {"unsupported", unsupported},
              {"bounds", bounds},
              {"executions", executions_json(model)},
              {"critical_path", path},
              {"findings", model.findings}};
}

Json what_if_json(const WhatIfResult& result) {
  Json layers = Json::array();
  for (const auto& saving : result.layers) {
    layers.push_back({{"layer", saving.layer},
                      {"key", saving.key.text},
                      {"before_seconds", saving.before.count()},
                      {"after_seconds", saving.after.count()},
                      {"change", saving.change}});
  }
  Json row{
      {"name", result.name},
      {"mode", result.mode},
      {"baseline_seconds", interval_or_null(result.baseline)},
      {"predicted_seconds", interval_or_null(result.predicted)},
      {"predicted_speedup", result.predicted_speedup ? Json(*result.predicted_speedup) : Json()},
      {"execution_mode", result.execution_mode},
      {"realised_baseline_seconds", interval_or_null(result.realised_baseline)},
      {"realised_seconds", interval_or_null(result.realised)},
      {"realised_speedup", result.realised_speedup ? Json(*result.realised_speedup) : Json()},
      {"prediction_error", result.prediction_error ? Json(result.prediction_error->share) : Json()},
      {"layers", layers},
      {"prerequisites", result.prerequisites}};
  const auto add_interval = [&](const std::string& prefix, auto known, double low, double high) {
    if (known) {
      row[prefix + "low"] = low;
      row[prefix + "high"] = high;
    }
  };
  const auto add_times = [&](const std::string& prefix, const auto& time, const Interval& within) {
    add_interval(prefix, time.has_value(), within.low.count(), within.high.count());
  };
  add_times("baseline_", result.baseline, result.baseline_interval);
  add_times("", result.predicted, result.predicted_interval);
  add_times("realised_baseline_", result.realised_baseline, result.realised_baseline_interval);
  add_times("realised_", result.realised, result.realised_interval);
  const PredictionError error = result.prediction_error.value_or(PredictionError{});
  add_interval("prediction_error_", result.prediction_error.has_value(), error.low, error.high);
  if (!result.why_not.empty()) {
    row["why_not"] = result.why_not;
  }
  return row;
}

Json run_json(const RunRecord& run) {
  return Json{
      {"run", run.header.id},
      {"suite", run.header.suite},
      {"suite_hash", run.header.suite_hash},
      {"environment", run.header.environment.id()},
      {"backend", run.header.backend},
      {"stack", run.header.stack},
      {"shard", run.header.shard},
      {"tags", run.tags},
      {"started", to_text(run.header.started)},
      {"finished", run.finished ? Json(to_text(*run.finished)) : Json()},
      {"state", to_text(run.state)},
      {"rows", {{"ok", run.rows_ok}, {"failed", run.rows_failed}, {"reused", run.rows_reused}}}};
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
  Json result = document();
  result["models"] = rows;
  return result;
}

Json model_document(const Graph& graph) {
  const GraphTotals sums = totals(graph);
  Json result = document();
  result["name"] = graph.name;
  result["opset"] = graph.opset;
  result["layers"] = sums.layers;
  result["unique_layers"] = sums.unique_layers;
  result["macs"] = sums.macs;
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
  Json result = document();
  result["runs"] = Json::array();
  result["environments"] = Json::object();
  for (const RunRecord& run : runs) {
    result["runs"].push_back(run_json(run));
    result["environments"].update(environments(run.header.environment));
  }
  return result;
}

Json bounds_document(const RunReport& report) {
  Json result = document();
  result["run"] = report.run.header.id;
  result["environment"] = report.run.header.environment.id();
  result["environments"] = environments(report.run.header.environment);
  result["models"] = Json::array();
  for (const ModelReport& model : report.models) {
    result["models"].push_back(bounds_json(model.bounds, report.now));
  }
  result["layers"] = single_layers_json(report);
  return result;
}

Json what_ifs_document(const RunReport& report) {
  Json result = document();
  result["run"] = report.run.header.id;
  result["environment"] = report.run.header.environment.id();
  result["environments"] = environments(report.run.header.environment);
  result["models"] = Json::array();
  for (const ModelReport& model : report.models) {
    Json rows = Json::array();
    for (const WhatIfResult& whatif : model.whatifs.whatifs) {
      rows.push_back(what_if_json(whatif));
    }
    const ModelInstance& instance = model.whatifs.instance;
    result["models"].push_back({{"model", instance.model},
                                {"batch", instance.batch},
                                {"dtype", instance.dtype},
                                {"dims", instance.dims},
                                {"whatifs", rows}});
  }
  return result;
}

Json environment_document(const Environment& environment) {
  Json result = document();
  result["environment"] = environment.id();
  result["environments"] = environments(environment);
  return result;
}

Json layer_document(const LayerKey& key,
                    std::span<const Measurement> rows,
                    const Environment& environment) {
  Json result = document();
  result["key"] = key.text;
  const LayerSpec spec = parse_key(key);
  const LayerCost cost = cost_of(spec);
  result["macs"] = cost.macs;
  result["flops"] = cost.flops.value;
  result["input_shapes"] = shape_list(spec.inputs);
  result["environment"] = environment.id();
  result["environments"] = environments(environment);
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
               {"creation_seconds", interval_or_null(row.creation)},
               {"reorder_seconds", interval_or_null(row.reorder)},
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
