// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/paired_run.hpp"

#include <fmt/format.h>

#include <utility>

#include "harness/analysis/compare/run_comparison.hpp"
#include "harness/base/digest.hpp"
#include "harness/base/error.hpp"
#include "harness/base/ulid.hpp"
#include "harness/cli/run_analysis.hpp"
#include "harness/session/system_facts.hpp"
#include "harness/session/worker_choice.hpp"

namespace plumb {

PairedRun paired_run(const std::string& stack,
                     int threads,
                     const ResolvedSuite& suite,
                     std::span<const PlannedModel> models,
                     std::vector<std::string> command) {
  PairedRun run;
  run.side = {worker_options(stack, threads), new_ulid()};
  RunHeader& header = run.header;
  header.id = run.side.run;
  header.suite = suite.name;
  header.resolved_suite = suite_for_store(suite, models);
  header.suite_hash = sha256(header.resolved_suite);
  header.backend = run.side.worker.stack.backend;
  header.stack = stack;
  header.environment =
      join_environment(read_system(), WorkerProcess(run.side.worker).describe(), threads, stack);
  header.environment.identity["method"] += " paired";
  header.command = std::move(command);
  header.started = current_time();
  return run;
}

void refuse_unlike(const PairedRun& baseline, const PairedRun& candidate) {
  std::vector<std::string> varied{"stack"};
  for (const PairedRun* run : {&baseline, &candidate}) {
    for (const auto& [name, value] : run->side.worker.stack.variables) {
      varied.push_back(name);
    }
  }
  std::string unlike;
  for (const EnvironmentDifference& each :
       environment_diff(baseline.header.environment, candidate.header.environment)) {
    if (each.identity && !is_varied(each.name, varied)) {
      unlike += fmt::format("\n  {}: '{}' and '{}'", each.name, each.baseline, each.candidate);
    }
  }
  if (!unlike.empty()) {
    throw Error(Error::Kind::kRefused,
                "the stacks differ in more than their libraries:" + unlike +
                    "\nonly stacks of one backend on one device are compared in pairs");
  }
}

}  // namespace plumb
