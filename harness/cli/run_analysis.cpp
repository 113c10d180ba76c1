// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/run_analysis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "harness/analysis/compare/run_times.hpp"
#include "harness/analysis/whatif/realised_saving.hpp"
#include "harness/base/digest.hpp"
#include "harness/base/error.hpp"
#include "harness/base/json_text.hpp"
#include "harness/base/path_text.hpp"
#include "harness/cli/model_source.hpp"
#include "harness/cli/scenario_runs.hpp"
#include "harness/results/results_json.hpp"
#include "harness/rewrite/rewrite.hpp"
#include "reporting/content/run/documents.hpp"

namespace plumb {
namespace {

using Json = nlohmann::json;

ModelInstance instance_of(const Json& graph) {
  return {.model = graph.at("model").get<std::string>(),
          .batch = graph.at("batch").get<std::int64_t>(),
          .dtype = graph.at("dtype").get<std::string>(),
          .dims = graph.at("dims").get<std::map<std::string, std::int64_t>>()};
}

/// Returns a digest of what a graph computes and how it is wired: keys and edges, without names.
std::string digest_of(const Graph& graph) {
  std::string text;
  for (const Layer& layer : graph.layers) {
    text += layer.key.text;
    for (const auto& input : layer.inputs) {
      text += input ? fmt::format(" {}", *input) : " -";
    }
    text += fmt::format(" > {}\n", fmt::join(layer.outputs, " "));
  }
  return sha256(text).substr(0, 16);
}

std::vector<std::string> scenario_texts(const std::vector<Scenario>& scenarios) {
  std::vector<std::string> texts;
  texts.reserve(scenarios.size());
  for (const Scenario& scenario : scenarios) {
    texts.push_back(to_text(scenario));
  }
  return texts;
}

/// Lists for each model of a run the scenarios that its suite asks for, by name.
std::map<ModelInstance, std::vector<std::string>> wanted_scenarios(const RunRecord& run) {
  std::map<ModelInstance, std::vector<std::string>> wanted;
  const Json document = Json::parse(run.header.resolved_suite, nullptr, false);
  if (!document.is_object() || !document.contains("graphs")) {
    return wanted;
  }
  for (const Json& entry : document["graphs"]) {
    std::vector<std::string>& names = wanted[instance_of(entry)];
    for (const auto& text : entry.value("scenarios", std::vector<std::string>{})) {
      names.push_back(text.substr(0, text.find(' ')));  // "server (99 %: latency 15 ms)"
    }
  }
  return wanted;
}

/// Adds a finding to a model with the wanted scenarios that the run has not executed.
void add_missing_scenarios(const std::vector<std::string>& wanted, ModelBounds& model) {
  std::vector<std::string> missing;
  for (const std::string& name : wanted) {
    if (std::none_of(model.loads.begin(), model.loads.end(), [&](const ScenarioResult& load) {
          return load.scenario == name;
        })) {
      missing.push_back(name);
    }
  }
  if (!missing.empty()) {
    model.findings.push_back(fmt::format("not executed in this run, of the suite's scenarios: {}",
                                         fmt::join(missing, ", ")));
  }
}

/// Reads a model of a run. Empty if its graph is not that of the digest. A run may have rewritten
/// the batch that a file fixes, which earlier versions did without being asked.
std::optional<PlannedModel> load_if_same(ResolvedSuite::Model model, const std::string& digest) {
  std::optional<Error> problem;
  for (const bool rebatch : {false, true}) {
    model.rebatch = rebatch;
    try {
      PlannedModel loaded = load_model(model);
      if (digest_of(loaded.graph) == digest) {
        return loaded;
      }
    } catch (const Error& error) {
      problem = error;
    }
    if (!model.path) {
      break;
    }
  }
  if (problem) {
    throw Error(*problem);
  }
  return std::nullopt;
}

std::vector<SingleLayer> single_layers_of(const RunRecord& run) {
  std::vector<SingleLayer> layers;
  const Json document = Json::parse(run.header.resolved_suite, nullptr, false);
  if (document.is_object() && document.contains("layers")) {
    for (const Json& entry : document["layers"]) {
      layers.push_back({.key = {entry.at("key").get<std::string>()},
                        .count = entry.at("count").get<std::int64_t>(),
                        .file = entry.at("file").get<std::string>()});
    }
  }
  return layers;
}

}  // namespace

std::string suite_for_store(const ResolvedSuite& suite, std::span<const PlannedModel> models) {
  Json document = Json::parse(to_json(suite));
  Json& graphs = document["graphs"] = Json::array();
  PLUMB_CHECK(models.size() == suite.models.size());
  for (std::size_t i = 0; i < models.size(); ++i) {
    const ModelInstance& instance = models[i].instance;
    const std::optional<std::filesystem::path>& path = suite.models[i].path;
    graphs.push_back({{"model", instance.model},
                      {"batch", instance.batch},
                      {"dtype", instance.dtype},
                      {"path", path ? Json(path_text(*path)) : Json()},
                      {"dims", instance.dims},
                      {"scenarios", scenario_texts(suite.models[i].scenarios)},
                      {"digest", digest_of(models[i].graph)}});
  }
  return json_text(document);
}

std::vector<PlannedModel> models_of_run(const RunRecord& run) {
  std::vector<PlannedModel> models;
  const Json document = Json::parse(run.header.resolved_suite, nullptr, false);
  if (!document.is_object() || !document.contains("graphs")) {
    return models;
  }
  for (const Json& entry : document["graphs"]) {
    const ModelInstance instance = instance_of(entry);
    ResolvedSuite::Model model;
    model.name = instance.model;
    model.batch = instance.batch;
    model.dtype = instance.dtype;
    model.dims = instance.dims;
    if (entry.at("path").is_string()) {
      model.path = path_from_text(entry.at("path").get<std::string>());
    }
    const std::string digest = entry.at("digest").get<std::string>();
    std::optional<PlannedModel> found = load_if_same(model, digest);
    if (!found) {
      throw Error(
          Error::Kind::kUser,
          fmt::format(
              "{} is no longer what run {} measured: its graph has changed; run the suite again",
              to_text(instance, ", "),
              run.header.id));
    }
    models.push_back(std::move(*found));
  }
  return models;
}

RunResults read_results(const Store& store, const RunId& run, std::optional<double> fastest) {
  RunResults results;
  results.rows = store.measurements(run);
  for (const DerivedRecord& record : store.derived(run, kExecutionRecord)) {
    results.executions[record.subject].push_back(execution_from_json(record.payload));
  }
  if (const auto own = fastest_pace(results.rows, results.executions)) {
    mark_slow_host(std::min(*own, fastest.value_or(*own)), results.rows, results.executions);
  }
  return results;
}

RunReport analyze_run(const Store& store,
                      const RunRecord& run,
                      const std::vector<std::string>& only) {
  return analyze_run(store, run, only, read_results(store, run.header.id));
}

RunReport analyze_run(const Store& store,
                      const RunRecord& run,
                      const std::vector<std::string>& only,
                      const RunResults& run_results) {
  RunReport report;
  report.run = run;
  report.now = current_time();
  report.rows = run_results.rows;
  if (const auto record = store.latest_calibration(run.header.environment.id())) {
    report.calibration = calibration_from_json(record->payload);
  }
  const ResultSet results(report.rows, report.calibration);
  const std::map<ModelInstance, std::vector<std::string>> wanted = wanted_scenarios(run);
  std::map<std::string, std::vector<ScenarioResult>> loads = loads_of(store, run.header.id);
  for (PlannedModel& model : models_of_run(run)) {
    if (!only.empty() && std::find(only.begin(), only.end(), model.instance.model) == only.end()) {
      continue;
    }
    ModelReport entry;
    entry.bounds = bounds_of(model.instance, model.graph, results);
    const auto executed = run_results.executions.find(subject_of(model.instance));
    if (executed != run_results.executions.end()) {
      add_executions(executed->second, model.graph, results, entry.bounds);
    }
    add_loads(loads[subject_of(model.instance)], entry.bounds);
    if (const auto found = wanted.find(model.instance); found != wanted.end()) {
      add_missing_scenarios(found->second, entry.bounds);
    }
    entry.whatifs = what_ifs_of(WhatIfInput{model.instance, model.graph, results});
    add_realised_savings(entry.bounds, entry.whatifs);
    entry.graph = std::move(model.graph);
    report.models.push_back(std::move(entry));
  }
  if (only.empty()) {
    report.layers = single_layer_results(single_layers_of(run), results);
  }
  if (report.models.empty() && !only.empty()) {
    throw Error(Error::Kind::kUser,
                fmt::format("run {} has no model '{}'", run.header.id, fmt::join(only, "', '")));
  }
  return report;
}

void store_analysis(Store& store, const RunReport& report) {
  std::vector<DerivedRecord> records;
  for (const ModelReport& model : report.models) {
    RunReport one;
    one.run = report.run;
    one.now = report.now;
    one.models.push_back(model);
    std::set<RowId> inputs;
    for (const Bound& bound : model.bounds.bounds) {
      inputs.insert(bound.inputs.begin(), bound.inputs.end());
    }
    const auto add = [&](const char* kind,
                         void (*write)(const RunReport&, OutputMode, std::ostream&)) {
      std::ostringstream text;
      write(one, OutputMode::kJson, text);
      records.push_back({.run = report.run.header.id,
                         .kind = kind,
                         .subject = subject_of(model.bounds.instance),
                         .analysis_version = std::string(kAnalysisVersion),
                         .inputs = {inputs.begin(), inputs.end()},
                         .payload = text.str(),
                         .computed = report.now});
    };
    add("bound", write_bounds);
    add("whatif", write_what_ifs);
  }
  const ResultSet results(report.rows, report.calibration);
  std::vector<ModelBounds> bounds;
  for (const ModelReport& model : report.models) {
    bounds.push_back(model.bounds);
  }
  records.push_back({.run = report.run.header.id,
                     .kind = kRunTimesRecord,
                     .subject = report.run.header.environment.id(),
                     .analysis_version = std::string(kAnalysisVersion),
                     .inputs = {},
                     .payload = to_json(collect_run_times(results, bounds)),
                     .computed = report.now});
  store.put_derived(records);
}

}  // namespace plumb
