// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/cli/baseline_check.hpp"
#include "harness/cli/load_options.hpp"
#include "harness/cli/suite_choice.hpp"
#include "harness/session/run/suite_run.hpp"
#include "harness/suite/suite.hpp"

namespace plumb {

/// Options of `plumb run`. Texts are as given on the command line; empty: not given.
struct RunOptions {
  SuiteChoice choice;
  std::vector<std::string> stacks;
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
  std::vector<std::string> layers;    ///< patterns of those to measure; none: all
  std::vector<std::string> excluded;  ///< patterns of those to leave out

  /// Returns whether layers alone are measured, and no model end to end.
  [[nodiscard]] bool is_of_layers() const;
};

/// Reads the suite that the options choose (chosen_suite()). What the options override is applied.
/// Throws Error{kUser} for what they choose or override wrongly.
[[nodiscard]] ResolvedSuite requested_suite(const ModelSource& models, const RunOptions& options);

/// Returns how the suite is measured on one of the stacks. Throws Error{kUser} for a mode that is
/// none.
[[nodiscard]] SuiteRunOptions suite_run_options(const RunOptions& options,
                                                const std::string& stack);

}  // namespace plumb
