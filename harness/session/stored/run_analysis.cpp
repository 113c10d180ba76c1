// SPDX-License-Identifier: Apache-2.0
#include "harness/session/stored/run_analysis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "harness/analysis/bounds/model_bounds.hpp"
#include "harness/analysis/bounds/model_execution.hpp"
#include "harness/analysis/history/run_series.hpp"
#include "harness/analysis/report/run_json.hpp"
#include "harness/analysis/whatif/what_if.hpp"
#include "harness/base/error.hpp"
#include "harness/base/parsed_text.hpp"
#include "harness/results/labels/variant_id.hpp"
#include "harness/results/results_json.hpp"
#include "harness/results/run.hpp"
#include "harness/results/trace/executed_trace.hpp"
#include "harness/session/stored/enabling_command.hpp"
#include "harness/session/stored/stored_records.hpp"
#include "harness/session/work/suite_models.hpp"

namespace plumb::session {
namespace {

constexpr const char* kThreads = "threads";

/// Returns the threads of an environment. Absent: it does not say.
std::optional<std::size_t> threads_of(const results::Facts& identity) {
  return parse_number<std::size_t>(results::fact_of(identity, kThreads));
}

results::Facts without_threads(results::Facts identity) {
  identity.erase(kThreads);
  return identity;
}

}  // namespace

analysis::CoSchedule::Scaling read_scaling(const store::Store& store,
                                           const results::RunHeader& run,
                                           std::span<const model::LayerKey> keys) {
  analysis::CoSchedule::Scaling scaling(threads_of(run.environment.identity).value_or(1));
  if (scaling.processors() < 2 || results::is_gpu(run.environment)) {
    return scaling;
  }
  const results::Facts rest = without_threads(run.environment.identity);
  std::set<std::size_t> seen;
  for (const results::RunRecord& other : store.runs()) {
    const results::Environment& environment = other.header.environment;
    const std::optional<std::size_t> threads = threads_of(environment.identity);
    if (threads && *threads < scaling.processors() && !seen.contains(*threads) &&
        without_threads(environment.identity) == rest) {
      seen.insert(*threads);
      scaling.add(*threads,
                  store.reusable(environment.id(), keys, results::CacheMode::kNone, std::nullopt));
    }
  }
  return scaling;
}

namespace {

/// Adds a finding to a model with the wanted scenarios that the run has not executed.
void add_missing_scenarios(const std::vector<loadgen::ScenarioName>& wanted,
                           analysis::ModelBounds& model) {
  std::vector<std::string_view> missing;
  for (const loadgen::ScenarioName name : wanted) {
    if (std::none_of(model.loads.begin(),
                     model.loads.end(),
                     [&](const results::ScenarioResult& load) { return load.scenario == name; })) {
      missing.push_back(to_text(name));
    }
  }
  if (!missing.empty()) {
    model.findings.push_back(fmt::format("scenarios of the suite that this run did not execute: {}",
                                         fmt::join(missing, ", ")));
  }
}

/// Lists the keys that rows were measured of hot, each once.
std::vector<model::LayerKey> list_hot_keys(const analysis::ResultSet& results) {
  std::set<model::LayerKey> keys;
  for (const results::StoredMeasurement& row : results.rows()) {
    if (row.measurement.cache == results::CacheMode::kNone) {
      keys.insert(row.measurement.key);
    }
  }
  return {keys.begin(), keys.end()};
}

/// Adds the estimates of steps that share the processors, as far as times with fewer threads are
/// known.
void add_schedules(const analysis::ResultSet& results,
                   const analysis::CoSchedule::Scaling& scaling,
                   analysis::RunReport::Model& model) {
  for (const analysis::ModelPartition::Mode mode :
       {analysis::ModelPartition::Mode::kFusion, analysis::ModelPartition::Mode::kPlain}) {
    if (auto schedule = analysis::co_schedule(model.graph, results, scaling, mode)) {
      model.bounds.bounds.push_back(schedule->occupancy);
      model.bounds.bounds.push_back(schedule->schedule);
      model.schedules.push_back(std::move(*schedule));
    }
  }
}

/// Reads the rows of a model's layers with padded channels, from any run of the same environment.
analysis::ResultSet read_padded_layers(const store::Store& store,
                                       const results::RunHeader& run,
                                       const analysis::ModelLimits& limits) {
  std::set<model::LayerKey> keys;
  for (const analysis::ModelLimits::Step& step : limits.steps) {
    if (!step.padded.text.empty()) {
      keys.insert(step.padded);
    }
  }
  const std::vector<model::LayerKey> wanted(keys.begin(), keys.end());
  return analysis::ResultSet(
      wanted.empty()
          ? std::vector<results::StoredMeasurement>()
          : store.reusable(run.environment.id(), wanted, results::CacheMode::kNone, std::nullopt));
}

/// Reads the newest document of a model's trace that a run keeps. Empty: it keeps none.
std::string read_trace(const store::Store& store,
                       const results::RunId& run,
                       const analysis::ModelInstance& instance) {
  std::optional<results::DerivedRecord> newest;
  for (const results::DerivedRecord& record : store.derived(run, results::kTraceRecord)) {
    if (record.subject.starts_with(analysis::subject_of(instance) + "|") &&
        record.subject.find('|', analysis::subject_of(instance).size() + 1) == std::string::npos &&
        (!newest || record.computed >= newest->computed)) {
      newest = record;
    }
  }
  return newest ? newest->payload : std::string();
}

std::vector<model::ListedLayer> list_single_layers(const results::RunRecord& run) {
  std::vector<model::ListedLayer> layers;
  const auto document = nlohmann::json::parse(run.header.resolved_suite, nullptr, false);
  if (document.is_object() && document.contains("layers")) {
    for (const auto& entry : document["layers"]) {
      layers.push_back({.key = {entry.at("key").get<std::string>()},
                        .count = entry.at("count").get<std::int64_t>(),
                        .file = entry.at("file").get<std::string>()});
    }
  }
  return layers;
}

/// Prices the steps of training of a run whose memory is capped.
std::vector<analysis::WhatIfInput::TrainedBatch> price_batches(std::span<const PlannedModel> models,
                                                               const analysis::ResultSet& results) {
  std::vector<analysis::WhatIfInput::TrainedBatch> batches;
  for (const PlannedModel& model : models) {
    if (auto batch = analysis::price_trained_batch(model.instance, model.graph, results)) {
      batches.push_back(std::move(*batch));
    }
  }
  return batches;
}

/// Lists the hosts of what a model's bounds and executions rest on. Reused rows are older than the
/// run: their hosts are not known here.
std::set<std::string> hosts_of(const analysis::ModelBounds& model,
                               std::span<const results::StoredMeasurement> rows,
                               std::span<const results::Execution> executions) {
  std::set<std::string> hosts;
  const auto add = [&](const results::Measurement& row) {
    const auto host = row.attributes.find(results::kHost);
    if (host != row.attributes.end()) {
      hosts.insert(host->second);
    }
  };
  std::set<results::RowId> inputs;
  for (const analysis::Bound& bound : model.bounds) {
    inputs.insert(bound.inputs.begin(), bound.inputs.end());
  }
  for (const results::StoredMeasurement& row : rows) {
    if (!row.reused && inputs.contains(row.row)) {
      add(row.measurement);
    }
  }
  for (const results::Execution& execution : executions) {
    add(execution.row);
  }
  return hosts;
}

}  // namespace

std::vector<analysis::ModelResults> summarize_models(const analysis::RunReport& report) {
  std::vector<analysis::ModelResults> models;
  for (const analysis::RunReport::Model& model : report.models) {
    models.push_back(analysis::summarize_results(model.bounds, model.whatifs));
  }
  return models;
}

RunResults read_results(const store::Store& store,
                        const results::RunId& run,
                        std::optional<double> fastest) {
  RunResults results;
  results.rows = store.measurements(run);
  for (const char* const kind : {results::kExecutionRecord, results::kAlternationRecord}) {
    for (const results::DerivedRecord& record : store.derived(run, kind)) {
      results.executions[record.subject].push_back(results::execution_from_json(record.payload));
    }
  }
  if (const auto own = analysis::fastest_pace(results.rows, results.executions)) {
    analysis::mark_slow_host(
        std::min(*own, fastest.value_or(*own)), results.rows, results.executions);
  }
  return results;
}

std::map<std::string, std::vector<results::ScenarioResult>> read_loads(const store::Store& store,
                                                                       const results::RunId& run) {
  std::map<std::string, std::vector<results::ScenarioResult>> loads;
  for (const results::DerivedRecord& record : store.derived(run, results::kLoadRecord)) {
    loads[record.subject].push_back(results::scenario_result_from_json(record.payload));
  }
  return loads;
}

analysis::RunReport analyze_run(const SessionContext::Archive& archive,
                                const results::RunRecord& run,
                                const std::vector<std::string>& only) {
  return analyze_run(archive, run, only, read_results(archive.store, run.header.id));
}

analysis::RunReport analyze_run(const SessionContext::Archive& archive,
                                const results::RunRecord& run,
                                const std::vector<std::string>& only,
                                RunResults run_results) {
  analysis::RunReport report;
  report.run = run;
  report.now = current_time();
  report.exclusions = read_exclusions(archive.store, run.header.id);
  if (const auto record = archive.store.latest_calibration(run.header.environment.id())) {
    report.calibration = results::calibration_from_json(record->payload);
  }
  analysis::ResultSet results(std::move(run_results.rows), report.calibration);
  const analysis::CoSchedule::Scaling scaling =
      read_scaling(archive.store, run.header, list_hot_keys(results));
  const std::map<analysis::ModelInstance, std::vector<loadgen::ScenarioName>> wanted =
      scenarios_of_run(run);
  const analysis::HostControls hosts = read_host_controls(archive.store, run.header.id);
  std::map<std::string, std::vector<results::ScenarioResult>> loads =
      read_loads(archive.store, run.header.id);
  StoredModels stored = read_stored_models(archive.models, run);
  const std::vector<analysis::WhatIfInput::TrainedBatch> batches =
      price_batches(stored.planned, results);
  for (std::size_t i = 0; i < stored.planned.size(); ++i) {
    PlannedModel& model = stored.planned[i];
    if (!only.empty() && std::find(only.begin(), only.end(), model.instance.model) == only.end()) {
      continue;
    }
    analysis::RunReport::Model entry;
    entry.note = std::move(stored.named[i].note);
    entry.graph = std::move(model.graph);
    entry.bounds = analysis::compute_bounds(model.instance, entry.graph, results);
    entry.limits = analysis::compute_limits(entry.graph, results, entry.bounds);
    const analysis::ResultSet padded = read_padded_layers(archive.store, run.header, entry.limits);
    analysis::add_padded_times(padded, entry.limits);
    analysis::add_waves(results, run.header.environment, entry.limits);
    add_schedules(results, scaling, entry);
    const auto executed = run_results.executions.find(analysis::subject_of(model.instance));
    if (executed != run_results.executions.end()) {
      analysis::add_executions(executed->second, entry.graph, results, entry.bounds);
    }
    analysis::add_loads(loads[analysis::subject_of(model.instance)], entry.bounds);
    if (const auto found = wanted.find(model.instance); found != wanted.end()) {
      add_missing_scenarios(found->second, entry.bounds);
    }
    analysis::require_like_hosts(
        hosts_of(entry.bounds,
                 results.rows(),
                 executed == run_results.executions.end() ? std::vector<results::Execution>{}
                                                          : executed->second),
        hosts,
        entry.bounds);
    analysis::WhatIfInput input{model.instance, entry.graph, results, &scaling};
    input.division = results::division_rule_of(run.header.environment)
                         .value_or(results::VariantId::DivisionRule{});
    input.batches = batches;
    input.padded = &padded;
    input.on_device = results::is_gpu(run.header.environment);
    entry.trace = read_trace(archive.store, run.header.id, model.instance);
    if (!entry.trace.empty()) {
      input.traced = results::traced_losses_from_json(entry.trace);
    }
    entry.whatifs = analysis::compute_what_ifs(input);
    entry.waterfall = analysis::compute_waterfall(input, entry.bounds);
    analysis::add_realised_savings(entry.bounds, results, entry.whatifs);
    if (executed != run_results.executions.end()) {
      analysis::add_plan_savings(executed->second, entry.graph, results, entry.whatifs);
    }
    for (analysis::WhatIfResult& whatif : entry.whatifs.whatifs) {
      if (whatif.execution_mode.empty()) {
        continue;  // no mode switches it on
      }
      whatif.command = enabling_command(run.header, model.instance, whatif.execution_mode);
      if (whatif.baseline_mode != "plain") {
        whatif.command += " --mode " + whatif.baseline_mode;
      }
    }
    analysis::rank(entry.whatifs);
    report.models.push_back(std::move(entry));
  }
  if (only.empty()) {
    report.layers = analysis::single_layer_results(list_single_layers(run), results);
  }
  report.rows = std::move(results).take_rows();
  if (report.models.empty() && !only.empty()) {
    throw Error(Error::Kind::kUser,
                fmt::format("run {} has no model '{}'", run.header.id, fmt::join(only, "', '")));
  }
  return report;
}

void store_analysis(store::Store& store, const analysis::RunReport& report) {
  std::vector<results::DerivedRecord> records;
  for (const analysis::RunReport::Model& model : report.models) {
    analysis::RunReport one;
    one.run = report.run;
    one.now = report.now;
    one.models.push_back(model);
    std::set<results::RowId> inputs;
    for (const analysis::Bound& bound : model.bounds.bounds) {
      inputs.insert(bound.inputs.begin(), bound.inputs.end());
    }
    const auto add = [&](const char* kind, const analysis::Json& document) {
      records.push_back({.run = report.run.header.id,
                         .kind = kind,
                         .subject = analysis::subject_of(model.bounds.instance),
                         .analysis_version = std::string(analysis::kAnalysisVersion),
                         .inputs = {inputs.begin(), inputs.end()},
                         .payload = analysis::document_text(document),
                         .computed = report.now});
    };
    analysis::Json bounds = analysis::bounds_document(one);
    bounds["models"].front().erase("roofline");  // many, and all of them follow from the rows
    bounds.erase("batches");                     // of several models together
    bounds.erase("captured_graphs");
    add(results::kBoundRecord, bounds);
    add(results::kWhatIfRecord, analysis::what_ifs_document(one));
  }
  const auto add_of_run = [&](const char* kind, std::string payload) {
    records.push_back({.run = report.run.header.id,
                       .kind = kind,
                       .subject = report.run.header.environment.id(),
                       .analysis_version = std::string(analysis::kAnalysisVersion),
                       .inputs = {},
                       .payload = std::move(payload),
                       .computed = report.now});
  };
  const analysis::ResultSet results(report.rows, report.calibration);
  add_of_run(results::kRunTimesRecord,
             to_json(analysis::collect_run_times(results, analysis::all_bounds(report))));
  add_of_run(results::kModelResultsRecord, analysis::to_json(summarize_models(report)));
  store.put_derived(records);
}

}  // namespace plumb::session
