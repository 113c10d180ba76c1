// SPDX-License-Identifier: Apache-2.0
#include "harness/session/bisect/stack_candidates.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <utility>

#include "harness/analysis/report/stack_report.hpp"
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

}  // namespace plumb::session
