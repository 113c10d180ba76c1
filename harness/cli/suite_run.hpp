// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/cli/baseline_check.hpp"
#include "harness/cli/command.hpp"
#include "harness/cli/load_options.hpp"
#include "harness/plan/planner.hpp"
#include "harness/store/store.hpp"

namespace plumb {

/// What the command line of `plumb run` asks for.
struct RunOptions {
  std::string suite;
  std::vector<std::string> stacks;
  std::vector<std::string> models;
  std::string reuse;
  std::string budget;
  std::string shard;
  std::string cache;
  std::string row_timeout = "60s";
  std::string only;
  std::vector<std::string> modes;
  LoadOptions loads;
  BaselineOptions baseline;
  int threads = 1;
  std::size_t processes = 5;
  bool resume = false;
};

/// Runs a suite on one stack to the end or until stopped, and measures again what looks regressed
/// against a baseline. Returns the run's id. Sets the context's exit status where the stack changed
/// meanwhile or its device erred.
RunId run_on_stack(CommandContext& context,
                   const RunOptions& options,
                   const ResolvedSuite& suite,
                   const std::vector<PlannedModel>& models,
                   Store& store,
                   const std::string& stack,
                   const BaselineCheck& baseline);

}  // namespace plumb
