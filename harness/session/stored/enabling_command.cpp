// SPDX-License-Identifier: Apache-2.0
#include "harness/session/stored/enabling_command.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/base/encoding.hpp"
#include "harness/model/key/layer_spec.hpp"
#include "harness/results/execution.hpp"
#include "harness/results/labels/variant_id.hpp"
#include "harness/results/series/series_name.hpp"

namespace plumb::session {
namespace {

/// Returns a path without its folder if it is absolute. Pages that are served show commands, and
/// must not tell where a user's files lie.
std::string without_folder(const std::string& path) {
  return path.starts_with('/') ? path.substr(path.rfind('/') + 1) : path;
}

/// Returns what a run's suite says of a model in a list, by the member that has its name.
nlohmann::json find_entry(const nlohmann::json& suite,
                          const char* list,
                          const char* name,
                          const std::string& model) {
  if (suite.is_object() && suite.contains(list)) {
    for (const auto& entry : suite[list]) {
      if (entry.value(name, "") == model) {
        return entry;
      }
    }
  }
  return nlohmann::json::object();
}

/// Returns the options that choose a model that was measured without a suite.
std::string model_options(const results::RunHeader& run, const analysis::ModelInstance& instance) {
  const auto suite = nlohmann::json::parse(run.resolved_suite, nullptr, false);
  const auto graph = find_entry(suite, "graphs", "model", instance.model);
  const auto model = find_entry(suite, "models", "name", instance.model);
  const bool is_code = model.contains("code");  // which fixes its shapes
  const bool is_file = graph.contains("path") && graph["path"].is_string() && !is_code;
  std::string text =
      " --model " +
      shell_word(is_file ? without_folder(graph["path"].get<std::string>()) : instance.model);
  const bool rebatch = model.value("rebatch", false);
  if (!is_code && (instance.batch != 1 || rebatch)) {
    text += fmt::format(" --{} {}", rebatch ? "rebatch" : "batch", instance.batch);
  }
  text += instance.dtype == "f32" ? "" : " --dtype " + shell_word(instance.dtype);
  text += instance.training.empty() ? "" : " --training " + shell_word(instance.training);
  for (const auto& [name, extent] : instance.dims) {
    text += " --dim " + shell_word(fmt::format("{}={}", name, extent));
  }
  return text;
}

std::string threads_option(const results::RunHeader& run, std::string_view mode) {
  const auto found = run.environment.identity.find("threads");
  const std::string threads = found == run.environment.identity.end() ? "1" : found->second;
  if (threads != "1") {
    return " --threads " + shell_word(threads);
  }
  return results::execution_mode_from(mode).parallel_branches ? " --threads 2" : "";
}

std::string device_option(const results::RunHeader& run) {
  const std::string device = device_of(run);
  return device.empty() ? "" : " --device " + shell_word(device);
}

std::string division_options(const results::RunHeader& run, std::string_view mode) {
  constexpr std::int64_t kMebibyte = std::int64_t{1} << 20;
  const std::optional<results::VariantId::DivisionRule> rule =
      results::division_rule_of(run.environment);
  if (!rule || !results::execution_mode_from(mode).micro_batch) {
    return "";
  }
  const std::int64_t cap = rule->workspace_cap.value;
  const std::string policy = rule->policy == results::VariantId::DivisionRule{}.policy
                                 ? ""
                                 : fmt::format(" --micro-batch-policy {}", to_text(rule->policy));
  return (cap % kMebibyte == 0 ? fmt::format(" --workspace-cap {}MiB", cap / kMebibyte)
                               : fmt::format(" --workspace-cap {}", cap)) +
         policy;
}

}  // namespace

std::string device_of(const results::RunHeader& run) {
  const results::Facts& facts = run.environment.facts;
  const auto index = facts.find("gpu.index");
  const bool is_first = index == facts.end() || index->second == "0";
  return is_first ? "" : results::fact_of(run.environment.identity, "gpu.uuid");
}

std::string enabling_command(const results::RunHeader& run,
                             const analysis::ModelInstance& instance,
                             std::string_view mode) {
  constexpr std::size_t kSuite = 2;  // of "plumb run SUITE"
  const std::string suite = run.command.size() > kSuite ? run.command[kSuite] : "";
  std::string command = "plumb run";
  if (!suite.empty()) {
    command += fmt::format(
        " {} --model {}", shell_word(without_folder(suite)), shell_word(instance.model));
  } else {
    command += model_options(run, instance);
  }
  command += run.stack == "default" ? "" : " --stack " + shell_word(run.stack);
  return command + threads_option(run, mode) + device_option(run) + division_options(run, mode) +
         fmt::format(" --mode {}", mode);
}

std::string repeating_command(const results::RunHeader& run, const std::string& series) {
  const results::SeriesName name = results::parse_series(series);
  switch (name.kind) {
    case results::SeriesName::Kind::kLayer:
    case results::SeriesName::Kind::kCapability:
    case results::SeriesName::Kind::kLayerAccuracy:
      return !model::is_layer_key(name.subject)
                 ? std::string()
                 : "plumb layer " + shell_quoted(name.subject) +
                       (run.stack == "default" ? "" : " --stack " + shell_word(run.stack)) +
                       threads_option(run, "plain") + device_option(run);
    case results::SeriesName::Kind::kOther:
      return "";
    case results::SeriesName::Kind::kEndToEnd:
    case results::SeriesName::Kind::kAccuracy:
    case results::SeriesName::Kind::kLoad:
    case results::SeriesName::Kind::kAlternation:
    case results::SeriesName::Kind::kBound:
      break;
  }
  const std::optional<analysis::ModelInstance> instance = analysis::parse_subject(name.subject);
  if (!instance) {
    return "";
  }
  return enabling_command(
      run, *instance, name.mode.empty() || name.mode == "any" ? "plain" : name.mode);
}

std::string profiling_command(const results::RunHeader& baseline,
                              const results::RunHeader& candidate,
                              std::span<const std::string> varied) {
  constexpr std::size_t kProgram = 2;  // "plumb run"
  if (candidate.command.size() <= kProgram || candidate.command[1] != "run") {
    return "";
  }
  std::string words;
  if (baseline.stack != candidate.stack) {
    for (const std::string& each : varied) {
      words += " --vary " + shell_word(each);
    }
    return fmt::format("plumb compare {} {}{} --profile", baseline.id, candidate.id, words);
  }
  for (std::size_t i = kProgram; i < candidate.command.size(); ++i) {
    const std::string word = without_folder(candidate.command[i]);
    words += word.empty() ? "" : " " + shell_word(word);
  }
  return fmt::format("plumb run{}{}{}{} --profile-budget 30s",
                     words,
                     candidate.stack == "default" ? "" : " --stack " + shell_word(candidate.stack),
                     threads_option(candidate, "plain"),
                     device_option(candidate));
}

}  // namespace plumb::session
