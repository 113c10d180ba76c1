// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "harness/base/encoding.hpp"
#include "harness/base/error.hpp"
#include "harness/rewrite/gradient/training_step.hpp"
#include "harness/suite/suite.hpp"

namespace plumb::suite {
namespace {

[[noreturn]] void fail_at(const SuiteSpec& spec, int line, const std::string& problem) {
  throw Error(Error::Kind::kUser,
              line == 0 ? problem : fmt::format("{}:{}: {}", spec.file.string(), line, problem));
}

[[noreturn]] void fail_size(const SuiteSpec& spec, int line) {
  fail_at(spec,
          line,
          fmt::format("the suite expands to more than {} entries: narrow a range or split it",
                      kMaxSuiteEntries));
}

/// Does something for an entry. Its errors get the file and line of the entry.
template <typename Function>
auto at_line(const SuiteSpec& spec, int line, const Function& function) {
  try {
    return function();
  } catch (const Error& error) {
    fail_at(spec, line, error.what());
  }
}

/// Returns all combinations of the extents of the dimensions.
std::vector<std::map<std::string, std::int64_t>> combinations(const SuiteSpec& spec,
                                                              const SuiteSpec::ModelEntry& entry) {
  std::vector<std::map<std::string, std::int64_t>> all(1);
  for (const auto& [name, ranges] : entry.dims) {
    std::vector<std::int64_t> values;
    for (const auto& range : ranges) {
      const auto more =
          at_line(spec, entry.line, [&, &axis = name] { return expand(range, "dim." + axis); });
      values.insert(values.end(), more.begin(), more.end());
    }
    if (all.size() * values.size() > kMaxSuiteEntries) {
      fail_size(spec, entry.line);
    }
    std::vector<std::map<std::string, std::int64_t>> longer;
    for (const auto& dims : all) {
      for (const std::int64_t value : values) {
        longer.push_back(dims);
        longer.back()[name] = value;
      }
    }
    all = std::move(longer);
  }
  return all;
}

template <typename T>
T first_of(const std::optional<T>& own, const std::optional<T>& inherited, T otherwise) {
  return own ? *own : inherited.value_or(std::move(otherwise));
}

/// Identity of a model's instance: all that distinguishes its results from another's.
using Instance = std::
    tuple<std::string, std::int64_t, std::string, std::string, std::map<std::string, std::int64_t>>;

std::string describe(const ResolvedSuite::Model& model) {
  std::string text =
      fmt::format("model '{}' at batch {} in {}", model.name, model.batch, model.dtype);
  text += model.training.empty() ? "" : ", trained by " + model.training;
  for (const auto& [name, extent] : model.dims) {
    text += fmt::format(", {} {}", name, extent);
  }
  return text;
}

/// Returns the scenarios of a model with their limits and settings.
std::vector<Scenario> resolve_scenarios(const SuiteSpec& spec, const SuiteSpec::ModelEntry& entry) {
  std::vector<Scenario> scenarios;
  for (const loadgen::ScenarioName name : first_of(entry.overrides.scenario,
                                                   spec.defaults.scenario,
                                                   std::vector<loadgen::ScenarioName>{})) {
    Scenario& scenario = scenarios.emplace_back(Scenario{name, {}, {}});
    if (const auto limits = entry.limits.find(name); limits != entry.limits.end()) {
      scenario.limits = limits->second;
    }
    if (const auto settings = entry.settings.find(name); settings != entry.settings.end()) {
      scenario.settings = settings->second;
    }
    if (!scenario.limits.percentile) {
      scenario.limits.percentile = standard_percentile(name);
    }
  }
  for (const auto& [name, limits] : entry.limits) {
    if (std::none_of(scenarios.begin(), scenarios.end(), [&name = name](const Scenario& known) {
          return known.name == name;
        })) {
      fail_at(spec,
              entry.line,
              fmt::format("[model.{}] limits a scenario that the model does not list: add '{}' to "
                          "its 'scenario'",
                          to_text(name),
                          to_text(name)));
    }
  }
  return scenarios;
}

/// Returns the training of a model, with its loss and what is frozen.
std::string resolve_training(const SuiteSpec& spec,
                             const SuiteSpec::ModelEntry& entry,
                             const std::string& training) {
  if (training == kNoTraining) {
    return "";
  }
  const auto& loss = entry.overrides.loss ? entry.overrides.loss : spec.defaults.loss;
  auto frozen = first_of(entry.overrides.freeze, spec.defaults.freeze, std::vector<std::string>{});
  std::erase(frozen, kNoTraining);
  const std::string text = rewrite::step_choice_text(training, loss, frozen);
  at_line(spec, entry.line, [&] { suite::check_training(text); });
  return rewrite::to_text(rewrite::parse_step_choice(text).value());
}

/// Throws Error{kUser} for a loss, or for frozen weights, of a model that is not trained, and for
/// frozen weights beside the word for none.
void check_trained(const SuiteSpec& spec,
                   const SuiteSpec::ModelEntry& entry,
                   const std::vector<std::string>& trainings) {
  const bool trained = std::any_of(trainings.begin(), trainings.end(), [](const auto& training) {
    return training != kNoTraining;
  });
  if (!trained && (entry.overrides.loss || entry.overrides.freeze)) {
    fail_at(spec,
            entry.line,
            "'loss' and 'freeze' are of a step of training: give 'training' as well, other than "
            "'none'");
  }
  const auto& frozen = entry.overrides.freeze ? entry.overrides.freeze : spec.defaults.freeze;
  if (frozen && frozen->size() > 1 &&
      std::find(frozen->begin(), frozen->end(), kNoTraining) != frozen->end()) {
    fail_at(spec, entry.line, "'freeze' has 'none' beside weights: leave out one of them");
  }
}

/// Throws Error{kUser} for a step of training that is not executed.
void check_step(const ResolvedSuite::Model& model) {
  if (model.training.empty()) {
    return;
  }
  if (model.dtype == "f64" || model.dtype == "int8") {
    throw Error(Error::Kind::kUser,
                describe(model) +
                    ": a step of training is executed in f32, tf32, bf16 or f16; use "
                    "one of them as dtype");
  }
  if (!model.scenarios.empty()) {
    throw Error(Error::Kind::kUser,
                describe(model) + ": a scenario loads a model for inference; leave it out");
  }
}

/// Throws Error{kUser} for shapes that cannot alternate.
void check_alternation(const ResolvedSuite::Model& model) {
  if (model.alternation && model.dtype == "int8") {
    throw Error(Error::Kind::kUser,
                describe(model) +
                    ": 8-bit integers have scales of one shape; leave int8 out of a "
                    "model with 'shapes'");
  }
}

void add_models(const SuiteSpec& spec,
                const SuiteSpec::ModelEntry& entry,
                const ModelCompletion& complete,
                ResolvedSuite& suite,
                std::set<Instance>& seen) {
  using Batches = std::vector<std::int64_t>;
  using Words = std::vector<std::string>;
  auto batches = first_of(entry.overrides.batch, spec.defaults.batch, Batches{1});
  if (!entry.shapes.empty()) {
    batches.clear();
    for (const std::vector<std::int64_t>& shape : entry.shapes) {
      batches.push_back(shape.front());
    }
  }
  const auto dtypes = first_of(entry.overrides.dtype, spec.defaults.dtype, Words{"f32"});
  const auto trainings =
      first_of(entry.overrides.training, spec.defaults.training, Words{std::string(kNoTraining)});
  check_trained(spec, entry, trainings);
  ResolvedSuite::Model model;
  model.scenarios = resolve_scenarios(spec, entry);
  model.note = entry.note.value_or("");
  model.rebatch = entry.rebatch;
  model.open_batch =
      entry.path && !entry.overrides.batch && !spec.defaults.batch && entry.shapes.empty();
  if (entry.path) {
    const auto folder = std::filesystem::absolute(spec.file).parent_path();
    model.path = (folder / *entry.path).lexically_normal();
    model.code = entry.code;
    model.name = entry.name.value_or(path_text(entry.path->stem()));
  } else {
    model.name = *entry.name;
  }
  const auto all = combinations(spec, entry);
  if (suite.models.size() + batches.size() * dtypes.size() * trainings.size() * all.size() >
      kMaxSuiteEntries) {
    fail_size(spec, entry.line);
  }
  const auto add = [&](const std::map<std::string, std::int64_t>& dims) {
    model.dims = dims;
    at_line(spec, entry.line, [&] {
      check_step(model);
      check_alternation(model);
      if (complete) {
        complete(model);
      }
    });
    if (!seen.insert({model.name, model.batch, model.dtype, model.training, model.dims}).second) {
      fail_at(spec,
              entry.line,
              describe(model) +
                  " is listed twice (results are kept by name: two files need "
                  "two)");
    }
    suite.models.push_back(model);
  };
  const auto first = static_cast<std::int64_t>(suite.models.size());
  for (std::size_t i = 0; i < batches.size(); ++i) {
    std::int64_t group = first;  // one for each type and training
    for (const std::string& dtype : dtypes) {
      for (const std::string& training : trainings) {
        model.batch = batches[i];
        model.dtype = dtype;
        model.training = resolve_training(spec, entry, training);
        if (!entry.shapes.empty()) {
          model.alternation =
              ResolvedSuite::Alternation{group++, entry.shape_order, entry.shapes[i]};
        }
        std::for_each(all.begin(), all.end(), add);
      }
    }
  }
}

void add_layers(const SuiteSpec& spec, const SuiteSpec::LayersEntry& entry, ResolvedSuite& suite) {
  const auto file = spec.file.parent_path() / entry.file;
  for (SuiteSpec::ShapesRow& row : read_shapes(file)) {
    suite.layers.push_back(
        {.key = std::move(row.key), .count = row.count, .file = path_text(entry.file)});
  }
  if (suite.layers.size() > kMaxSuiteEntries) {
    fail_size(spec, entry.line);
  }
}

nlohmann::json scenario_json(const Scenario& scenario) {
  nlohmann::json row{{"name", to_text(scenario.name)}};
  const auto add = [&row](const char* name, const std::optional<Seconds>& limit) {
    if (limit) {
      row[name] = limit->count();
    }
  };
  if (scenario.limits.percentile) {
    row["percentile"] = *scenario.limits.percentile;
  }
  add("latency_seconds", scenario.limits.latency);
  add("first_token_seconds", scenario.limits.first_token);
  add("per_token_seconds", scenario.limits.per_token);
  const Scenario::Settings& settings = scenario.settings;
  add("duration_seconds", settings.duration);
  add("minimum_duration_seconds", settings.minimum_duration);
  add("batch_timeout_seconds", settings.batch_timeout);
  if (settings.target_rate) {
    row["target_rate"] = *settings.target_rate;
  }
  if (settings.maximum_batch) {
    row["maximum_batch"] = *settings.maximum_batch;
  }
  if (settings.lanes) {
    row["lanes"] = *settings.lanes;
  }
  return row;
}

}  // namespace

ResolvedSuite resolve(const SuiteSpec& spec, const ModelCompletion& complete) {
  ResolvedSuite suite;
  suite.name = spec.name;
  suite.version = spec.version;
  suite.reuse = spec.reuse ? parse_reuse(*spec.reuse) : ResolvedSuite::Reuse{};
  if (spec.budget) {
    suite.budget = parse_duration(*spec.budget);
  }
  if (spec.defaults.cache) {
    suite.caches.clear();
    for (const std::string& word : *spec.defaults.cache) {
      const auto mode = results::parse_cache_mode(word);
      PLUMB_CHECK(mode.has_value());
      suite.caches.push_back(*mode);
    }
  }
  std::set<Instance> seen;
  for (const auto& entry : spec.models) {
    add_models(spec, entry, complete, suite, seen);
  }
  for (const auto& entry : spec.layers) {
    add_layers(spec, entry, suite);
  }
  suite.exclusions = spec.exclusions;
  return suite;
}

std::string to_json(const ResolvedSuite& suite) {
  using Json = nlohmann::json;
  Json document{{"schema_version", 1},
                {"name", suite.name},
                {"version", suite.version},
                {"reuse", to_text(suite.reuse)},
                {"cache", Json::array()},
                {"models", Json::array()},
                {"layers", Json::array()}};
  if (!suite.selection.empty()) {
    document["selection"] =
        Json{{"layers", suite.selection.wanted}, {"exclude", suite.selection.excluded}};
  }
  if (suite.budget) {
    document["budget_seconds"] = suite.budget->count();
  }
  for (const results::CacheMode mode : suite.caches) {
    document["cache"].push_back(to_text(mode));
  }
  for (const auto& model : suite.models) {
    Json row{{"name", model.name},
             {"batch", model.open_batch ? Json() : Json(model.batch)},
             {"dtype", model.dtype},
             {"dims", model.dims},
             {"scenario", Json::array()}};
    for (const Scenario& scenario : model.scenarios) {
      row["scenario"].push_back(scenario_json(scenario));
    }
    if (!model.training.empty()) {
      row["training"] = model.training;
    }
    if (!model.note.empty()) {
      row["note"] = model.note;
    }
    if (model.alternation) {
      row["alternation"] = {{"group", model.alternation->group},
                            {"order", model.alternation->order},
                            {"shape", model.alternation->shape}};
    }
    if (model.rebatch) {
      row["rebatch"] = true;
    }
    if (model.path) {
      row["path"] = path_text(*model.path);
    }
    if (model.code) {
      row["code"] = {{"function", model.code->function}, {"sha256", model.code->sha256}};
    }
    document["models"].push_back(std::move(row));
  }
  for (const auto& layer : suite.layers) {
    document["layers"].push_back(
        Json{{"key", layer.key.text}, {"count", layer.count}, {"file", layer.file}});
  }
  return json_text(document);
}

}  // namespace plumb::suite
