// SPDX-License-Identifier: Apache-2.0
#include "harness/session/work/suite_models.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/base/digest.hpp"
#include "harness/base/encoding.hpp"
#include "harness/base/error.hpp"
#include "harness/rewrite/gradient/training_step.hpp"
#include "harness/rewrite/types/typed_graph.hpp"

namespace plumb::session {
namespace {

analysis::ModelInstance make_instance(const nlohmann::json& graph) {
  return {.model = graph.at("model").get<std::string>(),
          .batch = graph.at("batch").get<std::int64_t>(),
          .dtype = graph.at("dtype").get<std::string>(),
          .dims = graph.at("dims").get<std::map<std::string, std::int64_t>>(),
          .training = graph.value("training", std::string())};
}

/// Returns a digest of what a graph computes and how it is wired: keys and edges, without names.
std::string compute_digest(const model::Graph& graph) {
  std::string text;
  for (const model::Layer& layer : graph.layers) {
    text += layer.key.text;
    for (const auto& input : layer.inputs) {
      text += input ? fmt::format(" {}", *input) : " -";
    }
    text += fmt::format(" > {}\n", fmt::join(layer.outputs, " "));
  }
  return sha256(text).substr(0, 16);
}

std::vector<std::string> scenario_texts(const std::vector<suite::Scenario>& scenarios) {
  std::vector<std::string> texts;
  texts.reserve(scenarios.size());
  for (const suite::Scenario& scenario : scenarios) {
    texts.push_back(to_text(scenario));
  }
  return texts;
}

/// Returns the first extent of the first input that is no scalar. Empty if there is none.
std::optional<std::int64_t> first_extent(const model::Graph& graph) {
  for (const model::ValueId input : graph.inputs) {
    if (!graph.values[input].type.dims.empty()) {
      return graph.values[input].type.dims.front();
    }
  }
  return std::nullopt;
}

/// Returns one step of a model's training. Throws Error{kUser} for an unknown optimiser.
model::Graph step_of(const model::Graph& graph, const std::string& training) {
  const std::optional<rewrite::TrainingStep::Choice> choice = rewrite::parse_step_choice(training);
  if (!choice) {
    throw Error(Error::Kind::kUser,
                fmt::format("'{}' is no training of this version: use {}",
                            training.substr(0, 64),
                            rewrite::step_choice_words()));
  }
  return rewrite::training_step(graph, *choice).training.graph;
}

/// Reads the extents of a model's first input. Empty: it has none.
std::vector<std::int64_t> read_first_shape(const ModelSource& source,
                                           const suite::ResolvedSuite::Model& model) {
  const model::Graph graph =
      load_graph(source,
                 model.path ? model.path->string() : model.name,
                 {.batch = model.batch, .dims = model.dims, .rebatch = model.rebatch});
  return graph.inputs.empty() ? std::vector<std::int64_t>()
                              : graph.values[graph.inputs.front()].type.dims;
}

[[noreturn]] void refuse_shape(const suite::ResolvedSuite::Model& model, const std::string& why) {
  throw Error(Error::Kind::kUser,
              fmt::format("model '{}' cannot have the shape [{}]: {}",
                          model.name,
                          fmt::join(model.alternation->shape, ", "),
                          why));
}

void check_rank(const suite::ResolvedSuite::Model& model, std::size_t rank) {
  if (model.alternation->shape.size() != rank) {
    refuse_shape(model, fmt::format("its first input has {} dimensions", rank));
  }
}

/// Sets the axes of a model so that its first input has the shape that alternates. Behind the
/// batch, an axis of a built-in model is the one that has the input's extent by default.
void set_shape(const ModelSource& source, suite::ResolvedSuite::Model& model) {
  const std::vector<std::int64_t>& shape = model.alternation->shape;
  if (model.path) {
    const std::vector<model::ReadOptions::InputAxis> axes = model::read_first_axes(*model.path);
    check_rank(model, axes.size());
    for (std::size_t i = 1; i < shape.size(); ++i) {
      if (axes[i].fixed != shape[i]) {
        model.dims.emplace(axes[i].name, shape[i]);
      }
    }
  } else {
    const std::vector<std::int64_t> standard = read_first_shape(source, model);
    check_rank(model, standard.size());
    for (const auto& [axis, extent] : source.axes(model.name, {.batch = model.batch})) {
      const auto same = std::find(standard.begin() + 1, standard.end(), extent);
      const auto place = static_cast<std::size_t>(same - standard.begin());
      model.dims.emplace(axis, same == standard.end() ? extent : shape[place]);
    }
  }
  const std::vector<std::int64_t> found = read_first_shape(source, model);
  if (found != shape) {
    refuse_shape(model,
                 fmt::format("by its axes the nearest is [{}]; `plumb model show` lists them",
                             fmt::join(found, ", ")));
  }
}

/// Lets a model be executed by itself if none of its other shapes could be read, and logs that.
void drop_lone_shapes(std::vector<suite::ResolvedSuite::Model>& models) {
  std::map<std::int64_t, std::vector<suite::ResolvedSuite::Model*>> groups;
  for (suite::ResolvedSuite::Model& model : models) {
    if (model.alternation) {
      groups[model.alternation->group].push_back(&model);
    }
  }
  for (const auto& [group, shapes] : groups) {
    if (shapes.size() == 1) {
      suite::ResolvedSuite::Model& model = *shapes.front();
      spdlog::warn("model '{}': of its shapes only [{}] could be read, so none alternate",
                   model.name,
                   fmt::join(model.alternation->shape, ", "));
      model.alternation.reset();
    }
  }
}

void log_notes(const PlannedModel& model) {
  for (const std::string& note : model.graph.notes) {
    spdlog::warn("model '{}': {}", model.instance.model, note);
  }
}

}  // namespace

suite::ResolvedSuite resolve_suite(const ModelSource& source, const suite::SuiteSpec& spec) {
  return suite::resolve(spec, [&](suite::ResolvedSuite::Model& model) {
    if (model.alternation) {
      set_shape(source, model);
    } else if (!model.path) {
      const auto axes = source.axes(model.name, {.batch = model.batch, .dims = model.dims});
      model.dims.insert(axes.begin(), axes.end());
    }
  });
}

PlannedModel load_model(const ModelSource& source, const suite::ResolvedSuite::Model& model) {
  model::ReadOptions options{.dims = model.dims, .rebatch = model.rebatch};
  (model.open_batch ? options.open_batch : options.batch) = model.batch;
  const model::Graph graph =
      load_graph(source, model.path ? model.path->string() : model.name, options);
  analysis::ModelInstance instance{
      model.name, model.batch, model.dtype, model.dims, model.training};
  if (model.open_batch) {
    instance.batch = first_extent(graph).value_or(model.batch);
  }
  return {std::move(instance),
          rewrite::typed_graph(model.training.empty() ? graph : step_of(graph, model.training),
                               model.dtype)};
}

std::vector<PlannedModel> prepare_models(const ModelSource& source, suite::ResolvedSuite& suite) {
  std::vector<PlannedModel> models;
  std::vector<suite::ResolvedSuite::Model> kept;
  std::vector<Error> problems;
  for (suite::ResolvedSuite::Model& model : suite.models) {
    try {
      models.push_back(load_model(source, model));
    } catch (const Error& error) {
      if (error.kind() == Error::Kind::kInternal) {
        throw;
      }
      problems.push_back(error);
      continue;
    }
    log_notes(models.back());
    model.batch = models.back().instance.batch;
    model.open_batch = false;
    kept.push_back(std::move(model));
  }
  drop_lone_shapes(kept);
  suite.models = std::move(kept);
  if (problems.size() == 1 && models.empty() && suite.layers.empty()) {
    throw Error(problems.front());
  }
  for (const Error& problem : problems) {
    spdlog::error("{}", problem.what());
  }
  if (!problems.empty() && models.empty() && suite.layers.empty()) {
    throw Error(Error::Kind::kUser, "no model of the suite could be read: see the messages above");
  }
  return models;
}

std::vector<PlannedModel> load_models(const ModelSource& source,
                                      const suite::ResolvedSuite& suite,
                                      const std::vector<std::string>& only) {
  const auto wanted = [&](const std::string& name) {
    return only.empty() || std::find(only.begin(), only.end(), name) != only.end();
  };
  std::vector<PlannedModel> models;
  for (const suite::ResolvedSuite::Model& model : suite.models) {
    if (!wanted(model.name)) {
      continue;
    }
    models.push_back(load_model(source, model));
    log_notes(models.back());
  }
  if (models.empty() && !only.empty()) {
    throw Error(Error::Kind::kUser,
                fmt::format("suite '{}' has no model '{}'", suite.name, fmt::join(only, "', '")));
  }
  return models;
}

void keep_models(suite::ResolvedSuite& suite, const std::vector<std::string>& names) {
  std::erase_if(suite.models, [&](const suite::ResolvedSuite::Model& model) {
    return std::find(names.begin(), names.end(), model.name) == names.end();
  });
  suite.layers.clear();
  if (suite.models.empty()) {
    throw Error(Error::Kind::kUser,
                fmt::format("suite '{}' has no model '{}'", suite.name, fmt::join(names, "', '")));
  }
}

std::string suite_for_store(const suite::ResolvedSuite& suite,
                            std::span<const PlannedModel> models) {
  nlohmann::json document = nlohmann::json::parse(to_json(suite));
  nlohmann::json& graphs = document["graphs"] = nlohmann::json::array();
  PLUMB_CHECK(models.size() == suite.models.size());
  for (std::size_t i = 0; i < models.size(); ++i) {
    const analysis::ModelInstance& instance = models[i].instance;
    const std::optional<std::filesystem::path>& path = suite.models[i].path;
    graphs.push_back({{"model", instance.model},
                      {"batch", instance.batch},
                      {"dtype", instance.dtype},
                      {"path", path ? nlohmann::json(path_text(*path)) : nlohmann::json()},
                      {"dims", instance.dims},
                      {"scenarios", scenario_texts(suite.models[i].scenarios)},
                      {"digest", compute_digest(models[i].graph)}});
    if (!instance.training.empty()) {
      graphs.back()["training"] = instance.training;
    }
    if (!suite.models[i].note.empty()) {
      graphs.back()["note"] = suite.models[i].note;
    }
  }
  return json_text(document);
}

namespace {

/// Returns what a stored suite says, without what measure_the_same() allows to differ. Discarded if
/// it is no suite with digests.
nlohmann::json measured_part(const std::string& resolved_suite) {
  using Json = nlohmann::json;
  Json suite = Json::parse(resolved_suite, nullptr, false);
  if (!suite.is_object() || !suite.contains("graphs") || !suite.contains("models")) {
    return Json(Json::value_t::discarded);
  }
  suite.erase("budget_seconds");
  suite.erase("reuse");
  for (const char* const list : {"models", "graphs"}) {
    for (Json& model : suite[list]) {
      if (model.is_object()) {
        model.erase("path");
        model.erase("note");
      }
    }
  }
  return suite;
}

}  // namespace

bool measure_the_same(const results::RunHeader& one, const results::RunHeader& other) {
  if (one.suite_hash == other.suite_hash) {
    return true;
  }
  const nlohmann::json left = measured_part(one.resolved_suite);
  return !left.is_discarded() && left == measured_part(other.resolved_suite);
}

namespace {

/// Reads a model of a run. Empty if its graph is not that of the digest. A run may have rewritten
/// the batch that a file fixes, which earlier versions did without being asked: the model says
/// whether.
std::optional<PlannedModel> load_if_same(const ModelSource& source,
                                         suite::ResolvedSuite::Model& model,
                                         const std::string& digest) {
  std::optional<Error> problem;
  for (const bool rebatch : {false, true}) {
    model.rebatch = rebatch;
    try {
      PlannedModel loaded = load_model(source, model);
      if (compute_digest(loaded.graph) == digest) {
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

}  // namespace

StoredModels read_stored_models(const ModelSource& source, const results::RunRecord& run) {
  StoredModels models;
  const nlohmann::json document = nlohmann::json::parse(run.header.resolved_suite, nullptr, false);
  if (!document.is_object() || !document.contains("graphs")) {
    return models;
  }
  for (const nlohmann::json& entry : document["graphs"]) {
    const analysis::ModelInstance instance = make_instance(entry);
    suite::ResolvedSuite::Model model;
    model.name = instance.model;
    model.batch = instance.batch;
    model.dtype = instance.dtype;
    model.dims = instance.dims;
    model.training = instance.training;
    model.note = entry.value("note", "");
    if (entry.at("path").is_string()) {
      model.path = path_from_text(entry.at("path").get<std::string>());
    }
    const std::string digest = entry.at("digest").get<std::string>();
    std::optional<PlannedModel> found = load_if_same(source, model, digest);
    if (!found) {
      throw Error(
          Error::Kind::kUser,
          fmt::format(
              "{} is no longer what run {} measured: its graph has changed; run the suite again",
              to_text(instance, ", "),
              run.header.id));
    }
    models.named.push_back(std::move(model));
    models.planned.push_back(std::move(*found));
  }
  return models;
}

std::map<analysis::ModelInstance, std::vector<loadgen::ScenarioName>> scenarios_of_run(
    const results::RunRecord& run) {
  std::map<analysis::ModelInstance, std::vector<loadgen::ScenarioName>> wanted;
  const nlohmann::json document = nlohmann::json::parse(run.header.resolved_suite, nullptr, false);
  if (!document.is_object() || !document.contains("graphs")) {
    return wanted;
  }
  for (const nlohmann::json& entry : document["graphs"]) {
    std::vector<loadgen::ScenarioName>& names = wanted[make_instance(entry)];
    for (const auto& text : entry.value("scenarios", std::vector<std::string>{})) {
      // "server (99 %: latency 15 ms)"
      if (const auto name = loadgen::parse_scenario_name(text.substr(0, text.find(' ')))) {
        names.push_back(*name);
      }
    }
  }
  return wanted;
}

worker::ExecuteRequest make_execute_request(const ModelSource& source,
                                            const suite::ResolvedSuite::Model& model) {
  worker::ExecuteRequest request;
  request.name = model.name;
  request.dtype = model.dtype;
  request.training = model.training;
  if (model.path) {
    request.path = std::filesystem::absolute(*model.path);
    request.code = model.code;
    request.batch = model.batch;
    request.rebatch = model.rebatch;
    request.dims = model.dims;
  } else {
    request.model = source.onnx(model.name, {.batch = model.batch, .dims = model.dims});
  }
  return request;
}

worker::Alternation::Request make_alternate_request(
    const ModelSource& source,
    std::span<const suite::ResolvedSuite::Model> shapes,
    const results::ExecutionMode& mode) {
  if (shapes.size() < 2 || shapes.size() > worker::kMaxAlternatedShapes) {
    throw Error(Error::Kind::kUser,
                fmt::format("{} shape{}: give 2 to {} of them, such as --batch 1,8",
                            shapes.size(),
                            shapes.size() == 1 ? "" : "s",
                            worker::kMaxAlternatedShapes));
  }
  const auto has_other_type = [&](const suite::ResolvedSuite::Model& model) {
    return model.dtype != shapes.front().dtype;
  };
  if (std::any_of(shapes.begin(), shapes.end(), has_other_type)) {
    throw Error(Error::Kind::kUser, "shapes alternate in one type: give one --dtype");
  }
  if (mode.best_variant || mode.micro_batch) {
    throw Error(Error::Kind::kUser,
                fmt::format("the mode {} needs the measured variants of a run, which are of one "
                            "shape: leave it out",
                            to_text(mode)));
  }
  worker::Alternation::Request request;
  for (const suite::ResolvedSuite::Model& model : shapes) {
    request.shapes.push_back(make_execute_request(source, model));
    request.shapes.back().modes = {{.mode = mode, .steps = {}}};
  }
  return request;
}

}  // namespace plumb::session
