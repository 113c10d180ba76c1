// SPDX-License-Identifier: Apache-2.0
#include "harness/session/mlperf/mlperf_submission.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/digest.hpp"
#include "harness/base/error.hpp"
#include "harness/base/file_io.hpp"
#include "harness/loadgen/mlperf/mlperf_log.hpp"
#include "harness/results/run.hpp"
#include "harness/session/host/build_facts.hpp"

namespace plumb::session {
namespace {

constexpr std::uint64_t kSamples = 1024;  // LoadGen's own number, of resnet
constexpr Bytes kMemory{std::int64_t{1} << 30};

/// The benchmark of the models whose names begin with a text.
struct NamedBenchmark {
  std::string_view prefix;
  MlperfSubmission::Benchmark benchmark;
};

// The names and numbers of the submission checker, rounds v5.0 to v6.1.
constexpr MlperfSubmission::Benchmark kClassification{"resnet", kSamples};
constexpr std::array kNamed{NamedBenchmark{"resnet50", kClassification},
                            NamedBenchmark{"retinanet", {"retinanet", 64}},
                            NamedBenchmark{"bert-large", {"bert-99", 10'833}},
                            NamedBenchmark{"3d-unet", {"3d-unet-99", 43}},
                            NamedBenchmark{"dlrm-dcnv2", {"dlrm-v2-99", 204'800}},
                            NamedBenchmark{"yolo11", {"yolo-99", 64}},
                            NamedBenchmark{"llama-3.1-8b", {"llama3.1-8b", 13'368}},
                            NamedBenchmark{"whisper", {"whisper", 1'633}}};

/// Returns whether a model takes one image of three channels and tells 1,000 classes apart.
bool classifies_images(const model::Graph& graph) {
  constexpr std::int64_t kClasses = 1000;
  if (graph.inputs.size() != 1 || graph.outputs.empty()) {
    return false;
  }
  const std::vector<std::int64_t>& image = graph.values[graph.inputs[0]].type.dims;
  const std::vector<std::int64_t>& classes = graph.values[graph.outputs[0]].type.dims;
  return image.size() == 4 && image[1] == 3 &&
         std::find(classes.begin(), classes.end(), kClasses) != classes.end();
}

}  // namespace

std::optional<MlperfSubmission::Benchmark> find_mlperf_benchmark(const std::string& model,
                                                                 const model::Graph& graph) {
  for (const NamedBenchmark& named : kNamed) {
    if (model.compare(0, named.prefix.size(), named.prefix) == 0) {
      return named.benchmark;
    }
  }
  return classifies_images(graph) ? std::optional(kClassification) : std::nullopt;
}

MlperfSubmission::DataSetSize data_set_size(const std::string& model,
                                            const model::Graph& graph,
                                            std::optional<std::uint64_t> asked) {
  const std::optional<MlperfSubmission::Benchmark> benchmark = find_mlperf_benchmark(model, graph);
  MlperfSubmission::DataSetSize size;
  size.wanted = benchmark ? benchmark->performance_samples : kSamples;
  Bytes sample{1};
  for (const model::ValueId input : graph.inputs) {
    sample += model::byte_size(graph.values[input].type);
  }
  const auto fitting =
      static_cast<std::uint64_t>(std::max<std::int64_t>(1, kMemory.value / sample.value));
  size.samples = asked.value_or(std::min(size.wanted, fitting));
  if (benchmark && size.samples < size.wanted) {
    size.shortage = fmt::format(
        "the data set has {} samples, but MLPerf's submission checker requires at least {} for {}; "
        "{}",
        size.samples,
        size.wanted,
        benchmark->name,
        asked ? "ask for more with --performance-sample-count"
              : fmt::format("1 GiB holds no more: --performance-sample-count {} takes {:.3g} GiB",
                            size.wanted,
                            static_cast<double>(size.wanted) * static_cast<double>(sample.value) /
                                static_cast<double>(kMemory.value)));
  }
  return size;
}

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kNotRecorded = "not recorded";
constexpr const char* kNone = "N/A";  // of a system without an accelerator

/// Returns the value of a name, or "not recorded".
std::string find_fact(const results::Facts& facts, const std::string& name) {
  const auto found = facts.find(name);
  const bool known = found != facts.end() && !found->second.empty() && found->second != "unknown";
  return known ? found->second : kNotRecorded;
}

/// Returns the facts of a list that are known, as "name value" joined by ", ".
std::string joined_facts(const results::Facts& facts, std::initializer_list<const char*> names) {
  std::vector<std::string> known;
  for (const char* name : names) {
    const std::string value = find_fact(facts, name);
    if (value != kNotRecorded) {
      known.push_back(fmt::format("{} {}", name, value));
    }
  }
  return known.empty() ? kNotRecorded : fmt::format("{}", fmt::join(known, ", "));
}

std::string memory_of_device(const results::Facts& identity) {
  const double bytes = std::atof(find_fact(identity, "gpu.memory").c_str());
  return bytes > 0.0 ? fmt::format("{:.0f} GiB", bytes / static_cast<double>(1 << 30))
                     : kNotRecorded;
}

void add_host(Json& system, const results::Environment& environment) {
  const results::Facts& identity = environment.identity;
  const results::Facts& facts = environment.facts;
  system["number_of_nodes"] = "1";
  system["host_processor_model_name"] = find_fact(identity, "cpu.model");
  system["host_processors_per_node"] = "1";
  system["host_processor_core_count"] = find_fact(identity, "cpu.count");
  system["host_processor_frequency"] =
      joined_facts(facts, {"frequency.max_khz", "frequency.mhz_now"});
  system["host_processor_caches"] = joined_facts(facts, {"cache.l1d", "cache.l2", "cache.l3"});
  system["host_processor_interconnect"] = kNotRecorded;
  system["host_memory_capacity"] = find_fact(identity, "memory");
  system["host_memory_configuration"] = kNotRecorded;
  system["host_storage_capacity"] = kNotRecorded;
  system["host_storage_type"] = kNotRecorded;
  system["host_networking"] = kNotRecorded;
  system["host_network_card_count"] = kNotRecorded;
  system["host_networking_topology"] = kNotRecorded;
}

void add_accelerator(Json& system, const results::Environment& environment) {
  const bool device = environment.identity.count("gpu") == 1;
  const std::string unknown = device ? kNotRecorded : kNone;
  // Texts: the checker takes the number 0 for an empty field.
  system["accelerators_per_node"] = device ? "1" : "0";
  system["accelerator_model_name"] = device ? environment.identity.at("gpu") : kNone;
  system["accelerator_memory_capacity"] = device ? memory_of_device(environment.identity) : kNone;
  for (const char* field : {"accelerator_frequency",
                            "accelerator_host_interconnect",
                            "accelerator_interconnect",
                            "accelerator_interconnect_topology",
                            "accelerator_memory_configuration",
                            "accelerator_on-chip_memories"}) {
    system[field] = unknown;
  }
}

Json describe_system(const results::Environment& environment,
                     const std::string& system,
                     const std::string& submitter) {
  const results::Facts& identity = environment.identity;
  const results::Facts& facts = environment.facts;
  Json description{{"division", "open"},
                   {"submitter", submitter},
                   {"status", "available"},
                   {"system_name", system},
                   {"system_type", "edge"},
                   {"system_type_detail", find_fact(identity, "virtualisation")}};
  add_host(description, environment);
  add_accelerator(description, environment);
  description["cooling"] = kNotRecorded;
  description["framework"] = find_fact(identity, "library");
  description["operating_system"] = find_fact(facts, "kernel");
  description["other_software_stack"] =
      joined_facts(facts, {"plumb.version", "plumb.commit", "plumb.compiler", "library.version"});
  description["hw_notes"] = fmt::format("{} threads; virtualisation: {}; microcode {}; governor {}",
                                        find_fact(identity, "threads"),
                                        find_fact(identity, "virtualisation"),
                                        find_fact(facts, "microcode"),
                                        find_fact(facts, "governor"));
  description["sw_notes"] =
      fmt::format("measured by Plumbline, not by LoadGen; environment {}", environment.id());
  return description;
}

/// Returns the fields of a description that somebody may have filled in. Empty: there is none.
Json existing_description(const std::filesystem::path& file) {
  std::ifstream in(file);
  Json existing = in ? Json::parse(in, nullptr, false) : Json::object();
  return existing.is_object() ? existing : Json::object();
}

/// Returns the name of a system in a submission, from processor, device, backend, stack and
/// threads. The mode is part of it, unless it is "plain".
std::string mlperf_system_name(const results::Environment& environment,
                               const std::string& stack,
                               const std::string& mode) {
  const results::Facts& identity = environment.identity;
  const std::string model = find_fact(identity, "cpu.model");
  std::string name =
      fmt::format("{}-{}cpu", model.substr(0, model.find(',')), find_fact(identity, "cpu.count"));
  if (identity.count("gpu") == 1) {
    name += "-" + identity.at("gpu");
  }
  name += fmt::format(
      "-{}-{}-{}thread", find_fact(identity, "backend"), stack, find_fact(identity, "threads"));
  return folder_name(mode == "plain" ? name : name + "-" + mode);
}

/// Writes the description of a system for MLPerf's submission checker, from the facts that
/// `plumb env` prints. What those do not tell is "not recorded". If the file exists, what stands
/// there in place of "not recorded" is kept. Throws Error{kEnvironment} if it cannot be written.
void write_mlperf_system(const std::filesystem::path& file,
                         const results::Environment& environment,
                         const std::string& system,
                         const std::string& submitter) {
  Json description = describe_system(environment, system, submitter);
  const Json existing = existing_description(file);
  for (const auto& [field, value] : existing.items()) {
    if (!description.contains(field) || description.at(field) == kNotRecorded) {
      description[field] = value;
    }
  }
  make_folder(file.parent_path());
  write_text_file(file, description.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

namespace fs = std::filesystem;

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

std::string measurements(const MlperfSubmission::Load& submitted) {
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
  if (load.scenario == loadgen::RequestedLoad::Scenario::kMultiStream) {
    add("multi_stream_samples_per_query", load.samples_per_query);
  }
  if (load.scenario != loadgen::RequestedLoad::Scenario::kOffline) {
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

std::string readme(const MlperfSubmission::Load& submitted, const std::string& scenario) {
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
                             const MlperfSubmission::Load& submitted,
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

std::vector<std::string> submission_faults(const MlperfSubmission::Load& submitted) {
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
