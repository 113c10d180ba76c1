// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/cli/baseline_check.hpp"
#include "harness/cli/command.hpp"
#include "harness/cli/load_options.hpp"
#include "harness/session/planner.hpp"
#include "harness/store/store.hpp"

namespace plumb {

/// Options of `plumb run`. Texts are as given on the command line; empty: not given.
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
  std::optional<std::int64_t> batch;    ///< of `models`, without a suite
  std::optional<std::int64_t> rebatch;  ///< likewise, and of what a file fixes
};

/// Runs a suite on one stack to the end or until stopped, and returns the run's id. What looks
/// regressed against a baseline is measured again. Sets the context's exit status if the stack
/// changed meanwhile or its device erred.
RunId run_on_stack(CommandContext& context,
                   const RunOptions& options,
                   const ResolvedSuite& suite,
                   const std::vector<PlannedModel>& models,
                   Store& store,
                   const std::string& stack,
                   const BaselineCheck& baseline);

}  // namespace plumb
