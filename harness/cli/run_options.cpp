// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/run_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/digest.hpp"
#include "harness/base/encoding.hpp"
#include "harness/base/error.hpp"
#include "harness/cli/shared_options.hpp"
#include "harness/session/host/host.hpp"
#include "harness/session/work/suite_models.hpp"
#include "harness/suite/suite.hpp"
#include "harness/worker/protocol/stack.hpp"

namespace plumb::cli {
namespace {

namespace fs = std::filesystem;

/// Returns whether a model is meant as a file: as .onnx, or as a path of a file that is there.
bool names_a_file(const std::string& model) {
  const fs::path path = model;
  std::error_code none;
  return path.extension() == ".onnx" ||
         ((path.has_parent_path() || path.has_extension()) && fs::is_regular_file(path, none));
}

std::vector<std::int64_t> parse_batches(const std::string& option,
                                        const std::vector<std::string>& values) {
  std::vector<std::int64_t> batches;
  for (const std::string& value : values) {
    for (const suite::ExtentRange& range : suite::parse_ranges(value, option, suite::kMaxBatch)) {
      const std::vector<std::int64_t> more = expand(range, option);
      batches.insert(batches.end(), more.begin(), more.end());
    }
  }
  return batches;
}

std::map<std::string, std::vector<suite::ExtentRange>> parse_dims(
    const std::vector<std::string>& values) {
  std::map<std::string, std::vector<suite::ExtentRange>> dims;
  for (const std::string& value : values) {
    const std::size_t equals = value.find('=');
    if (equals == 0 || equals == std::string::npos) {
      throw Error(Error::Kind::kUser,
                  fmt::format("'--dim {}' is not NAME=VALUES, such as sequence=128,384", value));
    }
    const std::string name = value.substr(0, equals);
    std::vector<suite::ExtentRange>& ranges = dims[name];
    for (suite::ExtentRange& range : suite::parse_ranges(
             std::string_view(value).substr(equals + 1), "--dim " + name, suite::kMaxExtent)) {
      ranges.push_back(std::move(range));
    }
  }
  return dims;
}

/// Returns the name of a suite of models: theirs, joined by '+'. It is short and has no spaces, so
/// that the tag `baseline/NAME` can hold it.
std::string name_of(const std::vector<suite::SuiteSpec::ModelEntry>& models) {
  constexpr std::size_t kMaxName = 80;
  constexpr std::size_t kDigits = 8;
  std::vector<std::string> names;
  names.reserve(models.size());
  for (const suite::SuiteSpec::ModelEntry& model : models) {
    names.push_back(model.name ? *model.name : path_text(model.path->stem()));
  }
  std::string name = fmt::format("{}", fmt::join(names, "+"));
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return c <= ' ' || c == 0x7F; }, '_');
  if (name.size() > kMaxName) {
    const std::string digest = sha256(name).substr(0, kDigits);
    name = name.substr(0, whole_characters(name, kMaxName - kDigits - 1)) + "-" + digest;
  }
  return name;
}

/// Returns the choice with a model in the place of a suite as one of the models without a suite.
/// Throws Error{kUser} if further models are named beside it: none of them is a part of it.
SuiteChoice with_model_file(SuiteChoice choice) {
  if (fs::path(choice.suite).extension() == ".onnx" || session::parse_model_code(choice.suite)) {
    if (!choice.models.empty()) {
      throw Error(
          Error::Kind::kUser,
          fmt::format(
              "'{0}' is a model, not a suite with a model '{1}': write --model {0} to measure both",
              choice.suite,
              choice.models.front()));
    }
    choice.models = {std::exchange(choice.suite, "")};
  }
  return choice;
}

/// Refuses what only models without a suite take.
void refuse_beside_suite(const SuiteChoice& choice) {
  struct Given {
    const char* option;
    const char* key;
    const std::vector<std::string>& values;
  };
  for (const Given& given : std::array<Given, 5>{{{"--batch", "batch", choice.batches},
                                                  {"--rebatch", "batch", choice.rebatches},
                                                  {"--dtype", "dtype", choice.dtypes},
                                                  {"--training", "training", choice.trainings},
                                                  {"--dim", "dim", choice.dims}}}) {
    if (!given.values.empty()) {
      throw Error(Error::Kind::kUser,
                  fmt::format("'{}' is for models without a suite: set '{}' in suite '{}'",
                              given.option,
                              given.key,
                              choice.suite));
    }
  }
}

/// Returns the layers that are chosen. Throws Error{kUser} where others than layers are measured.
suite::ResolvedSuite::Selection selection_of(const RunOptions& options) {
  suite::ResolvedSuite::Selection selection{.wanted = options.layers, .excluded = options.excluded};
  if (!selection.empty() && (options.only == "models" || !options.loads.scenarios.empty())) {
    throw Error(Error::Kind::kUser,
                fmt::format("'--{}' chooses layers, and '--{}' executes whole models: leave one "
                            "of them out",
                            selection.wanted.empty() ? "exclude" : "layer",
                            options.only == "models" ? "only models" : "scenario"));
  }
  return selection;
}

/// Refuses what models that are sampled while they are timed cannot have.
void refuse_always(const RunOptions& options) {
  const bool no_models = options.is_of_layers() || !options.loads.scenarios.empty();
  if (no_models || !options.join.empty()) {
    throw Error(Error::Kind::kUser,
                fmt::format("'--profile always' samples models that {}: leave it out",
                            no_models ? "are timed end to end, and this run times none"
                                      : "one process measures, without --join"));
  }
  if (!options.baseline.baseline.empty()) {
    throw Error(Error::Kind::kUser,
                "'--profile always' costs time that counts, so that the run cannot be compared "
                "with a baseline: leave out one of them");
  }
}

/// Returns when models are profiled. Throws Error{kUser} for options that exclude each other.
session::RunProfiles::When profiled_time_of(const RunOptions& options) {
  if (options.profile == "always") {
    refuse_always(options);
    return session::RunProfiles::When::kAlways;
  }
  return options.profile == "off" ? session::RunProfiles::When::kNever
                                  : session::RunProfiles::When::kPass;
}

}  // namespace

void add_suite_choice(CLI::App& command, SuiteChoice& choice) {
  command.add_option(
      "SUITE",
      choice.suite,
      "a path or an installed name, such as suites/quick.toml, or a model as a file; may be left "
      "out with --model");
  add_model_choice(command, choice);
}

void add_model_choice(CLI::App& command, SuiteChoice& choice) {
  command.add_option("--model",
                     choice.models,
                     "only this model of the suite; without a suite, a built-in name, an .onnx "
                     "file, or FILE.py:NAME "
                     "for a function that returns a module and example inputs; may be repeated");
  add_shape_choice(command, choice);
}

void add_shape_choice(CLI::App& command, SuiteChoice& choice) {
  CLI::Option* const batch =
      command
          .add_option("--batch",
                      choice.batches,
                      "batches of models without a suite, such as 1,8 or 1..64; "
                      "default: the batch that a file fixes, else 1")
          ->allow_extra_args(false);
  command
      .add_option("--rebatch",
                  choice.rebatches,
                  "as --batch, and rewrites the first dimension of inputs that a file fixes")
      ->allow_extra_args(false)
      ->excludes(batch);
  command
      .add_option(
          "--dtype",
          choice.dtypes,
          "element types of these models, such as f32,int8: f32, bf16, f16, f64, int8 or tf32; "
          "default: f32")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember(
          std::vector<std::string>(suite::kSuiteDtypes.begin(), suite::kSuiteDtypes.end())));
  const auto checked = [](void (*check)(const std::string&)) {
    return CLI::Validator(
        [check](const std::string& text) -> std::string {
          try {
            check(text);
          } catch (const Error& error) {
            return error.what();
          }
          return {};
        },
        "");
  };
  CLI::Option* const training =
      command
          .add_option("--training",
                      choice.trainings,
                      "one step of training of these models by an optimiser: sgd, adam, adamw or "
                      "lamb, or sgd:4 for four micro-batches and one update; default: none, which "
                      "is inference")
          ->delimiter(',')
          ->allow_extra_args(false)
          ->check(checked(suite::check_training));
  command
      .add_option("--loss",
                  choice.losses,
                  "what a step of training makes smaller; default: what the model's last layer "
                  "asks for")
      ->expected(1)
      ->allow_extra_args(false)
      ->check(checked(suite::check_loss))
      ->needs(training);
  command
      .add_option("--freeze",
                  choice.frozen,
                  "weights that a step of training leaves as they are: names in which '*' stands "
                  "for any characters, or batch_norm for the parameters and statistics of all "
                  "batch normalisations; may be repeated")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(checked(suite::check_frozen))
      ->needs(training);
  command
      .add_option("--dim",
                  choice.dims,
                  "NAME=VALUES sets an axis of these models, such as sequence=128,384 or "
                  "sequence=128..1024:x2; may be repeated")
      ->allow_extra_args(false);
}

void add_single_shape_choice(CLI::App& command, SuiteChoice& choice) {
  command.add_option("--batch", choice.batches, "batch of the model")
      ->expected(1)
      ->allow_extra_args(false);
  command.add_option("--dtype", choice.dtypes, "element type of the model")
      ->expected(1)
      ->allow_extra_args(false);
  command.add_option("--dim", choice.dims, "NAME=VALUE sets an axis; may be repeated");
}

void export_models(SuiteChoice& choice,
                   const std::vector<std::string>& stacks,
                   const std::atomic<bool>& stop) {
  choice = with_model_file(std::move(choice));
  for (const std::string& model : choice.models) {
    const std::optional<results::ModelCode> code = session::parse_model_code(model);
    if (!code || !choice.suite.empty()) {
      continue;
    }
    if (!choice.batches.empty() || !choice.rebatches.empty() || !choice.dims.empty()) {
      throw Error(Error::Kind::kUser,
                  fmt::format("'{}' fixes its shapes by the example inputs that it returns: leave "
                              "out --batch, --rebatch and --dim, and return other inputs",
                              model));
    }
    choice.exported.insert_or_assign(
        model,
        session::export_model(
            *code, stacks.empty() ? std::vector<std::string>{"default"} : stacks, stop));
  }
}

suite::SuiteSpec suite_of_models(const SuiteChoice& choice) {
  suite::SuiteSpec spec;
  spec.file = fs::current_path() / "models.toml";
  const bool rebatch = !choice.rebatches.empty();
  if (rebatch) {
    spec.defaults.batch = parse_batches("--rebatch", choice.rebatches);
  } else if (!choice.batches.empty()) {
    spec.defaults.batch = parse_batches("--batch", choice.batches);
  }
  if (!choice.dtypes.empty()) {
    spec.defaults.dtype = choice.dtypes;
  }
  if (!choice.trainings.empty()) {
    spec.defaults.training = choice.trainings;
  }
  for (const std::string& model : choice.models) {
    suite::SuiteSpec::ModelEntry& entry = spec.models.emplace_back();
    entry.dims = parse_dims(choice.dims);
    if (!choice.losses.empty()) {
      entry.overrides.loss = choice.losses.back();
    }
    if (!choice.frozen.empty()) {
      entry.overrides.freeze = choice.frozen;
    }
    if (const auto found = choice.exported.find(model); found != choice.exported.end()) {
      entry.name = found->second.name;
      entry.path = found->second.path;
      entry.code = found->second.code;
    } else if (names_a_file(model)) {
      entry.path = model;
      entry.rebatch = rebatch;
    } else {
      entry.name = model;
    }
  }
  spec.name = name_of(spec.models);
  return spec;
}

suite::ResolvedSuite chosen_suite(const session::ModelSource& models, const SuiteChoice& written) {
  const SuiteChoice choice = with_model_file(written);
  if (choice.suite.empty()) {
    if (choice.models.empty()) {
      throw Error(Error::Kind::kUser,
                  "name what to measure: a suite, such as suites/quick.toml, or --model with a "
                  "built-in name or an .onnx file");
    }
    return session::resolve_suite(models, suite_of_models(choice));
  }
  refuse_beside_suite(choice);
  suite::ResolvedSuite suite =
      session::resolve_suite(models, suite::read_suite(session::find_suite(choice.suite)));
  if (!choice.models.empty()) {
    session::keep_models(suite, choice.models);
  }
  return suite;
}

suite::ResolvedSuite::Model chosen_model(const session::ModelSource& models,
                                         const SuiteChoice& choice,
                                         std::string_view subject) {
  suite::ResolvedSuite suite = chosen_suite(models, choice);
  if (suite.models.size() != 1) {
    throw Error(Error::Kind::kUser,
                fmt::format("{} is of one model: give one batch and one type", subject));
  }
  return std::move(suite.models.front());
}

std::vector<std::string> words_of(const SuiteChoice& written) {
  const SuiteChoice choice = with_model_file(written);
  std::vector<std::string> words{choice.suite};
  const auto add = [&](const char* option, const std::vector<std::string>& values) {
    for (const std::string& value : values) {
      words.insert(words.end(), {option, value});
    }
  };
  add("--model", choice.models);
  add("--batch", choice.batches);
  add("--rebatch", choice.rebatches);
  add("--dtype", choice.dtypes);
  add("--training", choice.trainings);
  add("--loss", choice.losses);
  add("--freeze", choice.frozen);
  add("--dim", choice.dims);
  return words;
}

bool RunOptions::is_of_layers() const {
  return only == "layers" || !layers.empty() || !excluded.empty();
}

suite::ResolvedSuite requested_suite(const session::ModelSource& models,
                                     const RunOptions& options) {
  suite::ResolvedSuite suite = chosen_suite(models, options.choice);
  suite.selection = selection_of(options);
  if (!options.reuse.empty()) {
    suite.reuse = suite::parse_reuse(options.reuse);
  }
  if (!options.budget.empty()) {
    suite.budget = suite::parse_duration(options.budget);
  }
  if (!options.cache.empty()) {
    suite.caches = {read_cache_option(options.cache)};
  }
  apply(options.loads, options.suite_run, suite);
  return suite;
}

void add_label_option(CLI::App& command, std::vector<std::string>& labels) {
  command
      .add_option("--label",
                  labels,
                  "NAME=VALUE names what is measured, such as commit=4f2a9c0; may be repeated. The "
                  "CI job's variables give commit, branch and pr; NAME= leaves one out")
      ->allow_extra_args(false);
}

results::RunLabels labels_of_run(const std::vector<std::string>& given,
                                 const results::RunLabels& built) {
  results::RunLabels labels = results::labels_of_job(session::environment_variable);
  for (const auto& [name, value] : built) {
    labels.insert_or_assign(name, value);
  }
  return results::parse_labels(given, std::move(labels));
}

session::SuiteRun::Options suite_run_options(const RunOptions& options, const std::string& stack) {
  session::SuiteRun::Options run = options.suite_run;
  run.worker.stack = stack;
  run.command = {"plumb", "run"};
  const std::vector<std::string> words = words_of(options.choice);
  run.command.insert(run.command.end(), words.begin(), words.end());
  run.labels = labels_of_run(options.labels, options.built);
  run.layers = options.only != "models";
  // If scenarios were asked for, models are not executed by themselves.
  run.models = !options.is_of_layers() && options.loads.scenarios.empty();
  run.loads = !options.is_of_layers();
  for (const std::string& mode : options.modes) {
    run.wanted.modes.push_back(results::execution_mode_from(mode));
  }
  run.profiled = profiled_time_of(options);
  if (!run.mlperf_logs.empty() && options.stacks.size() > 1) {
    run.mlperf_logs /= worker::file_name_of(stack);
  }
  return run;
}

}  // namespace plumb::cli
