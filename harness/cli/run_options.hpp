// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/cli/baseline_check.hpp"
#include "harness/cli/load_options.hpp"
#include "harness/session/run/suite_run.hpp"
#include "harness/suite/suite.hpp"

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

/// Reads the suite that the options name, or makes one of the models that they name. What the
/// options override is applied. Throws Error{kUser} if they name neither, or what they name cannot
/// be read.
[[nodiscard]] ResolvedSuite requested_suite(const ModelSource& models, const RunOptions& options);

/// Returns how the suite is measured on one of the stacks. Throws Error{kUser} for a mode that is
/// none.
[[nodiscard]] SuiteRunOptions suite_run_options(const RunOptions& options,
                                                const std::string& stack);

}  // namespace plumb
