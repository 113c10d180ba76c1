// SPDX-License-Identifier: Apache-2.0
#include "harness/session/mlperf/mlperf_submission.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <utility>

#include "harness/base/digest.hpp"
#include "harness/base/error.hpp"
#include "harness/loadgen/mlperf/mlperf_log.hpp"
#include "harness/loadgen/mlperf/mlperf_words.hpp"
#include "harness/session/host/build_facts.hpp"
#include "harness/session/mlperf/mlperf_benchmark.hpp"
#include "harness/session/mlperf/mlperf_logs.hpp"
#include "harness/session/mlperf/mlperf_system.hpp"

namespace plumb::session {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::chrono::minutes kMinimumDuration{10};
constexpr std::uintmax_t kLongestLog = std::uintmax_t{10} * 1024;  // of accuracy
constexpr std::streamoff kShownBytes = 4096;                       // at either end of a longer one

std::string read_text_file(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) {
    throw Error(Error::Kind::kEnvironment, fmt::format("cannot read '{}'", file.string()));
  }
  return text.str();
}

std::string json_text(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// Returns a data type as MLPerf writes it.
std::string mlperf_type(const std::string& dtype) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kNames{
      {{"f32", "fp32"}, {"tf32", "fp32"}, {"f16", "fp16"}, {"bf16", "bf16"}, {"int8", "int8"}}};
  const auto* const found = std::find_if(
      kNames.begin(), kNames.end(), [&](const auto& name) { return name.first == dtype; });
  return std::string(found == kNames.end() ? std::string_view(dtype) : found->second);
}

std::string input_types(const model::Graph& graph) {
  std::set<std::string> types;
  for (const model::ValueId input : graph.inputs) {
    types.insert(mlperf_type(std::string(to_text(graph.values[input].type.dtype))));
  }
  return fmt::format("{}", fmt::join(types, ", "));
}

/// Returns the folder's name of a scenario.
std::string scenario_name(loadgen::ScenarioName scenario) {
  return scenario == loadgen::ScenarioName::kInteractive
             ? "Interactive"
             : std::string(loadgen::mlperf_name(loadgen::load_scenario(scenario)));
}

fs::path root_of(const MlperfSubmission& submission) {
  return submission.folder / "open" / folder_name(submission.submitter);
}

std::string measurements(const SubmittedLoad& submitted) {
  const std::string& mode = submitted.load.mode;
  return json_text(
      {{"input_data_types", input_types(submitted.graph)},
       {"retraining", "no"},
       {"starting_weights_filename",
        submitted.weights ? submitted.weights->filename().string()
                          : fmt::format("{}, built by Plumbline with seeded random weights",
                                        submitted.instance.model)},
       {"weight_data_types", mlperf_type(submitted.instance.dtype)},
       {"weight_transformations",
        mode == "plain" ? "none" : fmt::format("Plumbline's mode {}", mode)}});
}

/// Returns the settings of a load as LoadGen's user.conf has them.
std::string user_conf(const std::string& model,
                      const std::string& scenario,
                      const loadgen::LoadResult& result) {
  const loadgen::EffectiveLoad& load = result.load;
  const auto milliseconds = [](std::chrono::nanoseconds time) {
    return std::chrono::duration<double, std::milli>(time).count();
  };
  std::string text = "# The settings of this run, made by Plumbline's load generator.\n";
  const auto add = [&](std::string_view key, const auto& value) {
    text += fmt::format("{}.{}.{} = {}\n", model, scenario, key, value);
  };
  add("min_duration",
      std::chrono::duration_cast<std::chrono::milliseconds>(load.minimum_duration).count());
  add("min_query_count", load.minimum_queries);
  add("performance_sample_count_override", load.loaded_samples);
  if (load.scenario == loadgen::LoadScenario::kMultiStream) {
    add("multi_stream_samples_per_query", load.samples_per_query);
  }
  if (load.scenario != loadgen::LoadScenario::kOffline) {
    add("target_latency_percentile", load.rule.percentile);
  }
  if (load.target_rate) {
    add("target_qps", *load.target_rate);
  }
  if (load.latency_limit) {
    add("target_latency", milliseconds(*load.latency_limit));
  }
  return text;
}

std::string readme(const SubmittedLoad& submitted, const std::string& scenario) {
  return fmt::format(
      "# {}, {}\n\n{}\n\nThe inputs are seeded random numbers, and no accuracy on a data set is "
      "measured.\naccuracy.txt says how far the answers under load agree with those to each sample "
      "alone.\n\nMode: {}. Program: Plumbline {}, commit {}.\n",
      to_text(submitted.instance, ", "),
      scenario,
      loadgen::kMlperfUnverified,
      submitted.load.mode,
      kPlumbVersion,
      kPlumbCommit);
}

/// Returns a log as MLCommons' truncate_accuracy_log.py leaves it: whole, or both of its ends.
std::string shortened(const std::string& log) {
  if (log.size() <= kLongestLog) {
    return log;
  }
  return log.substr(0, kShownBytes) + "\n\n...\n\n" + log.substr(log.size() - kShownBytes);
}

void write_accuracy(const fs::path& folder,
                    const results::ScenarioResult& load,
                    const fs::path& log) {
  const std::string responses = read_text_file(log);
  std::string text = "No accuracy on a data set: the inputs are seeded random numbers.\n";
  if (load.agreement) {
    text += fmt::format(
        "answers compared with the model's answer to each sample alone: {}, largest relative "
        "difference {:.3g}\n",
        load.agreement->samples,
        load.agreement->maximum_difference);
  }
  write_text_file(folder / "accuracy.txt", text + fmt::format("hash={}\n", sha256(responses)));
  write_text_file(folder / loadgen::kMlperfAccuracyFile, shortened(responses));
}

/// Adds the model to model_mapping.json, which says what MLPerf calls its task.
void map_model(const fs::path& file, const std::string& model, std::string_view benchmark) {
  std::ifstream in(file);
  Json mapping = in ? Json::parse(in, nullptr, false) : Json::object();
  if (!mapping.is_object()) {
    throw Error(Error::Kind::kEnvironment,
                fmt::format("'{}' is not a JSON object: repair or remove it", file.string()));
  }
  mapping[model] = benchmark;
  write_text_file(file, json_text(mapping));
}

}  // namespace

fs::path submission_folder(const MlperfSubmission& submission,
                           const analysis::ModelInstance& instance,
                           const std::string& mode,
                           loadgen::ScenarioName scenario) {
  return root_of(submission) / "results" /
         mlperf_system_name(submission.environment, submission.stack, mode) /
         folder_name(analysis::subject_of(instance)) / scenario_name(scenario);
}

void write_mlperf_submission(const MlperfSubmission& submission,
                             const SubmittedLoad& submitted,
                             const fs::path& accuracy_log) {
  const results::ScenarioResult& load = submitted.load;
  PLUMB_CHECK(load.result.has_value());
  const fs::path root = root_of(submission);
  const fs::path folder =
      submission_folder(submission, submitted.instance, load.mode, load.scenario);
  const std::string model = folder_name(analysis::subject_of(submitted.instance));
  const std::string scenario = scenario_name(load.scenario);
  const std::string system =
      mlperf_system_name(submission.environment, submission.stack, load.mode);
  write_mlperf_logs(folder, load);
  if (load.accuracy) {
    write_accuracy(folder / "accuracy", load, accuracy_log);
  }
  write_text_file(folder / "measurements.json", measurements(submitted));
  write_text_file(folder / "user.conf", user_conf(model, scenario, *load.result));
  write_text_file(folder / "README.md", readme(submitted, scenario));
  write_mlperf_system(
      root / "systems" / (system + ".json"), submission.environment, system, submission.submitter);
  make_folder(root / "src");
  write_text_file(
      root / "src" / "README.md",
      fmt::format("The program is Plumbline {}, commit {}.\n", kPlumbVersion, kPlumbCommit));
  if (const auto benchmark = find_mlperf_benchmark(submitted.instance.model, submitted.graph)) {
    map_model(root / "model_mapping.json", model, benchmark->name);
  }
}

std::vector<std::string> submission_faults(const SubmittedLoad& submitted) {
  std::vector<std::string> faults;
  const results::ScenarioResult& load = submitted.load;
  PLUMB_CHECK(load.result.has_value());
  const loadgen::EffectiveLoad& effective = load.result->load;
  if (!load.result->valid()) {
    faults.emplace_back("the result is INVALID");
  }
  if (effective.minimum_duration < kMinimumDuration) {
    faults.push_back(
        fmt::format("the duration is {:.6g} s, but 600 s are required: leave --duration out",
                    Seconds(effective.minimum_duration).count()));
  }
  const auto benchmark = find_mlperf_benchmark(submitted.instance.model, submitted.graph);
  if (!benchmark) {
    faults.push_back(
        fmt::format("no benchmark of MLPerf is known for '{}': name one in "
                    "model_mapping.json",
                    submitted.instance.model));
  } else if (effective.loaded_samples < benchmark->performance_samples) {
    faults.push_back(
        fmt::format("the performance sample count is {}, but {} requires at least {}: see "
                    "--performance-sample-count",
                    effective.loaded_samples,
                    benchmark->name,
                    benchmark->performance_samples));
  }
  if (!load.accuracy) {
    faults.emplace_back("there is no accuracy log");
  }
  return faults;
}

}  // namespace plumb::session
