// SPDX-License-Identifier: Apache-2.0
#include "harness/session/run/built_stack.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <system_error>

#include "harness/base/digest.hpp"
#include "harness/base/error.hpp"
#include "harness/session/host/user_paths.hpp"
#include "harness/session/host/worker_choice.hpp"
#include "harness/stacks/built/bounded_program.hpp"
#include "harness/stacks/built/git_repository.hpp"

namespace plumb::session {
namespace {

namespace fs = std::filesystem;

/// Returns where the log of a command is kept: the last one of each command and folder.
fs::path log_of(const std::string& command, const fs::path& folder) {
  const fs::path logs = cache_folder() / "build-logs";
  std::error_code ignored;
  fs::create_directories(logs, ignored);
  return fs::absolute(logs) / (sha256(folder.string() + '\n' + command).substr(0, 24) + ".log");
}

}  // namespace

std::optional<BuiltStack> build_stack(const stacks::BuildRecipe& recipe,
                                      const std::atomic<bool>& stop,
                                      ProgressDisplay& display) {
  const std::string& command = recipe.command;
  const fs::path folder = fs::absolute(recipe.stack_folder).lexically_normal();
  const fs::path log = log_of(command, fs::current_path());
  ProgressStage stage(display);
  const stacks::ProgramEnd end = stacks::run_build(
      command, fs::current_path(), recipe.time_limit, log, stop, [&](Seconds elapsed) {
        stage.show({.done = 0,
                    .total = 1,
                    .unit = "builds",
                    .current = command,
                    .elapsed = elapsed,
                    .left = std::nullopt});
      });
  if (end.stopped) {
    return std::nullopt;
  }
  if (!end.problem.empty()) {
    throw Error(Error::Kind::kUser,
                fmt::format("the build command '{}' {}; its log '{}' ends: {}",
                            command,
                            end.problem,
                            log.string(),
                            fmt::join(end.tail, " | ")));
  }
  BuiltStack built;
  built.stack = worker_options({folder.string()}).stack.name;
  if (const std::optional<std::string> commit = stacks::commit_of_folder(built.stack)) {
    built.labels.emplace("commit", *commit);
  }
  return built;
}

}  // namespace plumb::session
