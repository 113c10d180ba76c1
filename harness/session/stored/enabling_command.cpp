// SPDX-License-Identifier: Apache-2.0
#include "harness/session/stored/enabling_command.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/results/execution_mode.hpp"

namespace plumb {
namespace {

/// Quotes a word for a POSIX shell, where it needs that.
std::string shell_word(std::string_view text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos) {
    return std::string(text);
  }
  std::string quoted = "'";
  for (const char c : text) {
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return quoted + "'";
}

/// Returns a path without its folder if it is absolute. Pages that are served show commands, and
/// must not tell where a user's files lie.
std::string without_folder(const std::string& path) {
  return path.starts_with('/') ? path.substr(path.rfind('/') + 1) : path;
}

/// Returns the file of a run's model, or its name if it has none.
std::string file_or_name(const RunHeader& run, const std::string& model) {
  const auto document = nlohmann::json::parse(run.resolved_suite, nullptr, false);
  if (document.is_object() && document.contains("graphs")) {
    for (const auto& entry : document["graphs"]) {
      if (entry.value("model", "") == model && entry.contains("path") &&
          entry["path"].is_string()) {
        return without_folder(entry["path"].get<std::string>());
      }
    }
  }
  return model;
}

std::string threads_option(const RunHeader& run, std::string_view mode) {
  const auto found = run.environment.identity.find("threads");
  const std::string threads = found == run.environment.identity.end() ? "1" : found->second;
  if (threads != "1") {
    return " --threads " + shell_word(threads);
  }
  return execution_mode_from(mode).parallel_branches ? " --threads 2" : "";
}

}  // namespace

std::string enabling_command(const RunHeader& run,
                             const ModelInstance& instance,
                             std::string_view mode) {
  constexpr std::size_t kSuite = 2;  // of "plumb run SUITE"
  const std::string suite = run.command.size() > kSuite ? run.command[kSuite] : "";
  std::string command = "plumb run";
  if (!suite.empty()) {
    command += fmt::format(
        " {} --model {}", shell_word(without_folder(suite)), shell_word(instance.model));
  } else {
    command += " --model " + shell_word(file_or_name(run, instance.model));
    command += instance.batch == 1 ? "" : fmt::format(" --batch {}", instance.batch);
  }
  command += run.stack == "default" ? "" : " --stack " + shell_word(run.stack);
  return command + threads_option(run, mode) + fmt::format(" --mode {}", mode);
}

}  // namespace plumb
