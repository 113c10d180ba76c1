// SPDX-License-Identifier: Apache-2.0
#include "harness/session/bisect/candidate_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>
#include <system_error>
#include <utility>

#include "harness/analysis/report/stack_report.hpp"
#include "harness/base/encoding.hpp"
#include "harness/base/error.hpp"
#include "harness/session/host/user_paths.hpp"
#include "harness/session/host/worker_choice.hpp"
#include "harness/stacks/stack_probe.hpp"

namespace plumb::session {
namespace {

/// Splits "3.11.2" into numbers, so that 3.9 comes before 3.11. What is no number counts as zero.
std::vector<std::uint64_t> parse_numbers(const std::string& version) {
  std::vector<std::uint64_t> numbers;
  std::istringstream parts(version);
  for (std::string part; std::getline(parts, part, '.');) {
    numbers.push_back(std::strtoull(part.c_str(), nullptr, 10));
  }
  return numbers;
}

struct VersionedStack {
  analysis::BisectionCandidate candidate;  ///< with the version
  std::vector<std::uint64_t> numbers;      ///< of the version
  std::string environment;                 ///< its id
};

VersionedStack read_stack(const std::string& stack, int threads, const std::string& device) {
  const results::Environment environment =
      worker::WorkerProcess(worker_options({stack, threads, device})).describe();
  const std::string version = results::fact_of(environment.facts, "library.version");
  return {{stack, version}, parse_numbers(version), environment.id()};
}

std::vector<std::string> stacks_of_backend(const std::string& like, int threads) {
  const std::string backend = worker_options({like, threads}).stack.backend;
  std::vector<std::string> names;
  for (const analysis::StackReport& stack : stacks::list_stacks(data_folder() / "stacks")) {
    if (stack.backend == backend && stack.problems.empty()) {
      names.push_back(stack.name);
    }
  }
  return names;
}

}  // namespace

StackCandidates::StackCandidates(const std::string& good,
                                 const std::string& bad,
                                 std::vector<std::string> between,
                                 int threads,
                                 const std::string& device) {
  const VersionedStack first = read_stack(good, threads, device);
  const VersionedStack last = read_stack(bad, threads, device);
  if (between.empty()) {
    between = stacks_of_backend(good, threads);
  }
  const auto older = [](const VersionedStack& one, const VersionedStack& other) {
    return one.numbers < other.numbers;
  };
  std::vector<VersionedStack> line;
  for (const std::string& name : between) {
    VersionedStack stack = read_stack(name, threads, device);
    // Either may be the newer one: after a downgrade the question is the same.
    if ((older(first, stack) && older(stack, last)) ||
        (older(last, stack) && older(stack, first))) {
      line.push_back(std::move(stack));
    }
  }
  std::stable_sort(line.begin(), line.end(), older);
  if (older(last, first)) {
    std::reverse(line.begin(), line.end());
  }
  line.insert(line.begin(), first);
  line.push_back(last);
  for (VersionedStack& stack : line) {
    line_.push_back(std::move(stack.candidate));
    identity_ += stack.environment + "\n";
  }
}

ReadyCandidate StackCandidates::prepare(std::size_t candidate,
                                        const std::function<void(const std::string&)>& /*report*/) {
  return {.stack = line_[candidate].name};
}

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
  for (stacks::GitRepository::Commit& commit :
       repository_.first_parent_line(options_.good, options_.bad)) {
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
  stacks::BuildCache::Build build =
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
