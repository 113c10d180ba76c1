// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/report/run_json.hpp"

#include <span>
#include <string>
#include <vector>

#include "harness/analysis/bounds/model_partition.hpp"
#include "harness/analysis/limits/batch_curve.hpp"
#include "harness/analysis/limits/model_limits.hpp"
#include "harness/analysis/report/reports.hpp"
#include "harness/analysis/whatif/what_if.hpp"
#include "harness/analysis/whatif/what_if_input.hpp"
#include "harness/base/timestamp.hpp"
#include "harness/loadgen/mlperf/mlperf_log.hpp"
#include "harness/results/execution.hpp"
#include "harness/results/labels/run_labels.hpp"

namespace plumb::analysis {

Json new_document() {
  return Json{{"schema_version", kJsonSchemaVersion}};
}

std::string document_text(const Json& document) {
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

Json seconds_or_null(const std::optional<Seconds>& value) {
  return value ? Json(value->count()) : Json();
}

Json bytes_or_null(const std::optional<Bytes>& value) {
  return value ? Json(value->value) : Json();
}

Json text_or_null(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

namespace {

Json limit_or_null(const std::optional<ModelLimits::Limit>& limit) {
  return limit ? Json(to_text(*limit)) : Json();
}

/// Returns what binds a model and each of its steps, the slowest step first.
[[nodiscard]] Json limits_json(const model::Graph& graph, const ModelLimits& limits) {
  Json shares = Json::object();
  for (const ModelLimits::Limit limit : kLimits) {
    shares[std::string(to_text(limit))] = limits.share(limit);
  }
  Json steps = Json::array();
  for (const ModelLimits::Step& step : limits.steps) {
    steps.push_back({{"name", name_of(graph, step.layers)},
                     {"layers", step.layers},
                     {"key", step.key.text},
                     {"seconds", step.seconds.count()},
                     {"limit", limit_or_null(step.limit)},
                     {"operations_per_byte", number_or_null(step.intensity)},
                     {"peak_share", number_or_null(step.peak_share)},
                     {"bandwidth_share", number_or_null(step.bandwidth_share)},
                     {"block_use", number_or_null(step.block_use)},
                     {"padded_key", text_or_null(step.padded.text)},
                     {"padded_seconds", seconds_or_null(step.padded_seconds)},
                     {"waves", number_or_null(step.waves)},
                     {"idle_in_last_wave", number_or_null(step.idle_in_last_wave())}});
  }
  return {{"limit", limit_or_null(limits.limit)},
          {"operations", limits.operations.value},
          {"compulsory_bytes", limits.compulsory.value},
          {"operations_per_byte", number_or_null(limits.intensity)},
          {"ridge_operations_per_byte", number_or_null(limits.ridge)},
          {"time_shares", shares},
          {"steps", steps}};
}

/// Returns the curves of models that were executed at several batches, each with its knee.
[[nodiscard]] Json batches_json(std::span<const ModelBounds> models) {
  Json curves = Json::array();
  for (const BatchCurve& curve : compute_batch_curves(models)) {
    Json points = Json::array();
    for (const BatchCurve::Point& point : curve.points) {
      points.push_back({{"batch", point.batch},
                        {"seconds", point.seconds.count()},
                        {"low", point.interval.low.count()},
                        {"high", point.interval.high.count()},
                        {"inputs_per_second", point.throughput()}});
    }
    curves.push_back({{"model", curve.model},
                      {"dtype", curve.dtype},
                      {"dims", curve.dims},
                      {"mode", curve.mode},
                      {"knee", number_or_null(curve.knee)},
                      {"points", points}});
  }
  return curves;
}

/// Returns how many graphs of each model were captured, what they hold and what they save.
[[nodiscard]] Json captured_graphs_json(std::span<const ModelBounds> models) {
  Json rows = Json::array();
  for (const CapturedGraphs& sum : sum_captured_graphs(models)) {
    rows.push_back({{"model", sum.model},
                    {"dtype", sum.dtype},
                    {"graphs", sum.graphs},
                    {"memory_bytes", sum.memory.value},
                    {"saved_seconds", sum.saved.count()}});
  }
  return rows;
}

/// Returns what somebody must know who switches a change on.
Json circumstances_json(const WhatIfResult& result) {
  Json settings = Json::array();
  for (const WhatIfResult::Setting& each : settings_of(result.execution_mode)) {
    settings.push_back(
        {{"option", each.option}, {"framework", each.framework}, {"setting", each.setting}});
  }
  return {{"applies", result.applies},
          {"combination", result.combination},
          {"accuracy", accuracy_class(result.execution_mode)},
          {"settings", settings},
          {"not_judged", text_or_null(result.not_judged)},
          {"realised_baseline_memory_bytes", bytes_or_null(result.realised_baseline_memory)},
          {"realised_memory_bytes", bytes_or_null(result.realised_memory)},
          {"realised_difference", number_or_null(result.realised_difference)}};
}

/// Returns a what-if as an object of the contract of `plumb whatif`.
[[nodiscard]] Json what_if_json(const WhatIfResult& result) {
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
      {"baseline_seconds", seconds_or_null(result.baseline)},
      {"predicted_seconds", seconds_or_null(result.predicted)},
      {"predicted_speedup", number_or_null(result.predicted_speedup)},
      {"execution_mode", text_or_null(result.execution_mode)},
      {"baseline_mode", result.baseline_mode},
      {"realised_baseline_seconds", seconds_or_null(result.realised_baseline)},
      {"realised_seconds", seconds_or_null(result.realised)},
      {"realised_speedup", number_or_null(result.realised_speedup)},
      {"prediction_error", result.prediction_error ? Json(result.prediction_error->share) : Json()},
      {"layers", layers},
      {"prerequisites", result.prerequisites},
      {"predicted_saving_seconds", seconds_or_null(predicted_saving(result))},
      {"basis", result.of_plans ? "plans" : "layers"},
      {"command", result.command}};
  const auto add_interval = [&](const std::string& prefix, auto known, double low, double high) {
    if (known) {
      row[prefix + "low"] = low;
      row[prefix + "high"] = high;
    }
  };
  const auto add_times =
      [&](const std::string& prefix, const auto& time, const measure::Interval& within) {
        add_interval(prefix, time.has_value(), within.low.count(), within.high.count());
      };
  add_times("baseline_", result.baseline, result.baseline_interval);
  add_times("", result.predicted, result.predicted_interval);
  add_times("realised_baseline_", result.realised_baseline, result.realised_baseline_interval);
  add_times("realised_", result.realised, result.realised_interval);
  const WhatIfResult::PredictionError error =
      result.prediction_error.value_or(WhatIfResult::PredictionError{});
  add_interval("prediction_error_", result.prediction_error.has_value(), error.low, error.high);
  if (const std::optional<measure::MeasuredTime> saving = saving_with_interval(result)) {
    row["predicted_saving_low"] = saving->interval.low.count();
    row["predicted_saving_high"] = saving->interval.high.count();
  }
  if (!result.why_not.empty()) {
    row["why_not"] = result.why_not;
  }
  if (result.samples_per_second) {
    row["predicted_samples_per_second"] = *result.samples_per_second;
  }
  row.update(circumstances_json(result));
  return row;
}

/// Returns the levels from a model's time now to its bound.
[[nodiscard]] Json waterfall_json(const std::vector<ModelWhatIfs::WaterfallLevel>& levels) {
  Json rows = Json::array();
  for (const ModelWhatIfs::WaterfallLevel& level : levels) {
    rows.push_back({{"name", level.name},
                    {"what", level.what},
                    {"seconds", level.time.median.count()},
                    {"low", level.time.interval.low.count()},
                    {"high", level.time.interval.high.count()}});
  }
  return rows;
}

Json instance_json(const ModelInstance& instance) {
  Json result{{"model", instance.model},
              {"batch", instance.batch},
              {"dtype", instance.dtype},
              {"dims", instance.dims}};
  if (!instance.training.empty()) {
    result["training"] = instance.training;
  }
  return result;
}

Json differences_json(const ExecutionTime& execution) {
  Json rows = Json::array();
  for (const ExecutionTime::Layer& layer : execution.differences) {
    rows.push_back({{"layer", layer.name},
                    {"key", layer.key.text},
                    {"variant", layer.variant},
                    {"inside_seconds", layer.inside.count()},
                    {"alone_seconds", layer.alone.count()}});
  }
  return rows;
}

Json load_json(const results::ScenarioResult& load) {
  const bool known = load.result && load.result->query_latency.count > 0;
  const auto seconds = [&](double percent) {
    const std::optional<Seconds> time = results::latency_at(load, percent);
    return time ? Json(time->count()) : Json();
  };
  Json row{{"mode", load.mode},
           {"scenario", to_text(load.scenario)},
           {"outcome", to_text(load.outcome.kind)},
           {"reason", load.outcome.reason},
           {"median_seconds", seconds(50.0)},
           {"low", known ? Json(Seconds(load.result->query_latency.median_low).count()) : Json()},
           {"high", known ? Json(Seconds(load.result->query_latency.median_high).count()) : Json()},
           {"p90_seconds", seconds(90.0)},
           {"p99_seconds", seconds(99.0)},
           {"samples", known ? load.result->query_latency.count : 0},
           {"memory_bytes", load.memory.value},
           {"reorders", load.reorders},
           {"notice", loadgen::kMlperfUnverified}};
  row["load"] = Json::parse(to_json(load));
  return row;
}

Json bytes_read(const ExecutionTime& execution, const char* reading) {
  const auto found = execution.readings.find(reading);
  return found == execution.readings.end() ? Json()
                                           : Json(static_cast<std::int64_t>(found->second.median));
}

Json executions_json(const ModelBounds& model) {
  Json rows = Json::array();
  for (const ExecutionTime& execution : model.executions) {
    const bool known = execution.samples > 0;
    const auto seconds = [&](Seconds time) { return known ? Json(time.count()) : Json(); };
    rows.push_back({{"mode", execution.mode},
                    {"scenario", to_text(execution.scenario)},
                    {"outcome", to_text(execution.outcome.kind)},
                    {"reason", execution.outcome.reason},
                    {"median_seconds", seconds(execution.median)},
                    {"low", seconds(execution.interval.low)},
                    {"high", seconds(execution.interval.high)},
                    {"p90_seconds", seconds(execution.p90)},
                    {"p99_seconds", seconds(execution.p99)},
                    {"samples", execution.samples},
                    {"memory_bytes", execution.memory.value},
                    {"preparation_bytes", bytes_read(execution, results::kPreparationMemory)},
                    {"resident_bytes", bytes_read(execution, results::kResidentMemory)},
                    {"reorders", execution.reorders},
                    {"differences", differences_json(execution)},
                    {"load", Json()}});
    if (!execution.attributes.empty()) {
      rows.back()["attributes"] = execution.attributes;
    }
  }
  for (const results::ScenarioResult& load : model.loads) {
    rows.push_back(load_json(load));
  }
  return rows;
}

/// Returns the times of a model among its other shapes. A single time has no interval.
Json alternations_json(const ModelBounds& model) {
  Json rows = Json::array();
  for (const ExecutionTime& execution : model.alternations) {
    const auto seconds = [&](Seconds time, std::size_t samples) {
      return execution.samples >= samples ? Json(time.count()) : Json();
    };
    rows.push_back({{"mode", execution.mode},
                    {"turn", execution.turn ? Json(to_text(*execution.turn)) : Json()},
                    {"outcome", to_text(execution.outcome.kind)},
                    {"reason", execution.outcome.reason},
                    {"median_seconds", seconds(execution.median, 1)},
                    {"low", seconds(execution.interval.low, 2)},
                    {"high", seconds(execution.interval.high, 2)},
                    {"samples", execution.samples}});
  }
  return rows;
}

Json path_json(const std::vector<PartitionStep>& steps) {
  Json path = Json::array();
  for (const PartitionStep& step : steps) {
    path.push_back({{"key", step.key.text},
                    {"layers", step.layers},
                    {"rewrite", step.rewrite},
                    {"seconds", step.time ? Json(step.time->time.median.count()) : Json()}});
  }
  return path;
}

/// Returns a document of a run's models, without a model.
Json make_document(const results::RunHeader& run) {
  Json result = new_document();
  result["run"] = run.id;
  result["environment"] = run.environment.id();
  result["environments"] = environments_json(run.environment);
  result["models"] = Json::array();
  return result;
}

Json bounds_json(const ModelBounds& model, Timestamp now) {
  Json bounds = Json::array();
  for (const Bound& bound : model.bounds) {
    const bool known = known_time(bound).has_value();
    Json row{{"kind", to_text(bound.kind)},
             {"mode", bound.mode},
             {"seconds", known ? Json(bound.seconds.count()) : Json()},
             {"low", known ? Json(bound.interval.low.count()) : Json()},
             {"high", known ? Json(bound.interval.high.count()) : Json()},
             {"complete", bound.complete},
             {"oldest_row_seconds", Json()},
             {"lacks", bound.lacks}};
    if (const auto age = bound.oldest_row ? elapsed(*bound.oldest_row, now) : std::nullopt) {
      row["oldest_row_seconds"] = age->count();
    }
    bounds.push_back(std::move(row));
  }
  Json unsupported = Json::array();
  for (const auto& layer : model.unsupported) {
    unsupported.push_back({{"layer", layer.layer}, {"key", layer.key}, {"reason", layer.reason}});
  }
  Json result = instance_json(model.instance);
  result.update(Json{{"measured_layers", model.measured_layers},
                     {"total_layers", model.total_layers},
                     {"unsupported", unsupported},
                     {"bounds", bounds},
                     {"executions", executions_json(model)},
                     {"critical_path", path_json(model.critical_steps)},
                     {"critical_path_plain", path_json(model.plain_critical_steps)},
                     {"findings", all_findings(model)}});
  if (!model.alternations.empty()) {
    result["alternations"] = alternations_json(model);
  }
  return result;
}

/// Returns one object for each layer that the suite lists by itself. Its times are null if there
/// are none.
Json layers_json(const RunReport& report) {
  Json rows = Json::array();
  for (const SingleLayerResult& result : report.layers) {
    Json row{{"key", result.layer.key.text},
             {"count", result.layer.count},
             {"file", result.layer.file},
             {"macs", result.cost.macs},
             {"seconds", Json()},
             {"hardware_seconds", seconds_or_null(result.hardware)}};
    if (result.time) {
      row["seconds"] = result.time->time.median.count();
      row["low"] = result.time->time.interval.low.count();
      row["high"] = result.time->time.interval.high.count();
      row["samples"] = result.time->time.n;
      row["cache"] = to_text(result.cache);
      row["variant"] = result.time->variant;
    } else {
      row["reason"] = result.reason;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

Json environments_json(const results::Environment& environment) {
  return Json{
      {environment.id(), {{"identity", environment.identity}, {"facts", environment.facts}}}};
}

Json run_json(const results::RunRecord& run) {
  return Json{
      {"run", run.header.id},
      {"kind", to_text(run_kind(run.header))},
      {"suite", run.header.suite},
      {"suite_hash", run.header.suite_hash},
      {"environment", run.header.environment.id()},
      {"backend", run.header.backend},
      {"stack", run.header.stack},
      {"shard", run.header.shard},
      {"tags", run.tags},
      {"labels", results::run_labels(run.header.environment)},
      {"started", plumb::to_text(run.header.started)},
      {"finished", run.finished ? Json(plumb::to_text(*run.finished)) : Json()},
      {"state", to_text(run.state)},
      {"rows", {{"ok", run.rows_ok}, {"failed", run.rows_failed}, {"reused", run.rows_reused}}}};
}

Json exclusions_json(std::span<const results::Exclusion> exclusions, std::string_view day) {
  Json list = Json::array();
  for (const results::Exclusion& each : exclusions) {
    list.push_back({{"case", each.match},
                    {"reason", each.reason},
                    {"who", each.who},
                    {"expires", each.until},
                    {"expired", !each.holds_on(day)}});
  }
  return list;
}

std::vector<ModelBounds> all_bounds(const RunReport& report) {
  std::vector<ModelBounds> bounds;
  for (const RunReport::Model& model : report.models) {
    bounds.push_back(model.bounds);
  }
  return bounds;
}

Json bounds_document(const RunReport& report) {
  Json result = make_document(report.run.header);
  for (const RunReport::Model& model : report.models) {
    Json entry = bounds_json(model.bounds, report.now);
    entry["roofline"] = limits_json(model.graph, model.limits);
    if (!model.note.empty()) {
      entry["note"] = model.note;
    }
    result["models"].push_back(std::move(entry));
  }
  const std::vector<ModelBounds> bounds = all_bounds(report);
  result["batches"] = batches_json(bounds);
  result["captured_graphs"] = captured_graphs_json(bounds);
  result["layers"] = layers_json(report);
  if (!report.exclusions.empty()) {
    result["exclusions"] = exclusions_json(report.exclusions, day_of(report.run.header));
  }
  return result;
}

Json what_ifs_document(const RunReport& report) {
  Json result = make_document(report.run.header);
  for (const RunReport::Model& model : report.models) {
    Json rows = Json::array();
    for (const WhatIfResult& whatif : model.whatifs.whatifs) {
      rows.push_back(what_if_json(whatif));
    }
    Json row = instance_json(model.whatifs.instance);
    row.update(Json{{"whatifs", rows}, {"waterfall", waterfall_json(model.waterfall)}});
    result["models"].push_back(std::move(row));
  }
  return result;
}

}  // namespace plumb::analysis
