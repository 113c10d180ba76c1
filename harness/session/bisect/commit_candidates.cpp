// SPDX-License-Identifier: Apache-2.0
#include "harness/session/bisect/commit_candidates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/json_text.hpp"
#include "harness/base/path_text.hpp"
#include "harness/session/host/user_paths.hpp"
#include "harness/session/host/worker_choice.hpp"

namespace plumb::session {
namespace {

/// Throws Error{kUser} unless a path stays in the folder that it is relative to.
void refuse_outside(const std::filesystem::path& folder) {
  const std::filesystem::path normal = folder.lexically_normal();
  if (normal.is_absolute() || normal.empty() || *normal.begin() == "..") {
    throw Error(Error::Kind::kUser,
                fmt::format("'--stack-folder {}' must lie in the worktree: give a path relative to "
                            "its root, such as build",
                            folder.string()));
  }
}

/// Returns why a worker does not start with a stack. Empty: it does.
std::string start_problem(const std::string& stack) {
  try {
    static_cast<void>(worker::WorkerProcess(worker_options({stack})).describe());
    return {};
  } catch (const worker::WorkerDied& death) {
    return "its worker does not start: " + death.outcome().reason;
  } catch (const Error& error) {
    if (error.kind() == Error::Kind::kInternal) {
      throw;
    }
    return fmt::format("the build leaves no stack: {}", error.what());
  }
}

}  // namespace

CommitCandidates::CommitCandidates(CommitCandidates::Options options, const std::atomic<bool>& stop)
    : options_(std::move(options)),
      repository_(options_.repository, stop),
      cache_(cache_folder() / "builds", options_.keep_builds, stop) {
  refuse_outside(options_.recipe.stack_folder);
  for (stacks::Commit& commit : repository_.first_parent_line(options_.good, options_.bad)) {
    line_.push_back({std::move(commit.hash), std::move(commit.subject)});
  }
}

std::string CommitCandidates::identity() const {
  return json_text({options_.recipe.command, path_text(options_.recipe.stack_folder)});
}

ReadyCandidate CommitCandidates::prepare(std::size_t candidate,
                                         const std::function<void(const std::string&)>& report) {
  const std::string& commit = line_[candidate].name;
  if (const auto held = held_.find(candidate); held != held_.end()) {
    std::error_code error;
    if (std::filesystem::is_directory(held->second.stack_folder, error)) {
      return {.stack = held->second.stack_folder.string(), .labels = {{"commit", commit}}};
    }
    held_.erase(held);  // somebody has deleted it: its lock must not keep this from building it
  }
  stacks::CommitBuild build =
      cache_.find_or_build(repository_, commit, options_.recipe, [&](Seconds elapsed) {
        report(fmt::format("building {} for {:.0f} s", commit.substr(0, 12), elapsed.count()));
      });
  ReadyCandidate ready{.stack = build.stack_folder.string(), .labels = {{"commit", commit}}};
  ready.problem = build.problem;
  ready.tail = build.tail;
  ready.log = build.log.string();
  ready.built = !build.reused && !build.stopped;
  ready.stopped = build.stopped;
  if (build.problem.empty()) {
    ready.tail.clear();
    ready.problem = start_problem(ready.stack);
    held_.insert_or_assign(candidate, std::move(build));
  }
  return ready;
}

}  // namespace plumb::session
