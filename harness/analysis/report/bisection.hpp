// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/analysis/compare/metric_test.hpp"
#include "harness/results/run.hpp"

namespace plumb::analysis {

/// Comparison of one stack with the good one.
struct BisectionStep {
  std::string stack;
  std::string version;
  std::string baseline_variant;
  std::string candidate_variant;
  MetricComparison test;
  std::size_t pairs = 0;
  results::RunId baseline_run;
  results::RunId run;
};

/// Search for the first stack on which a layer got worse.
struct Bisection {
  std::string key;
  std::vector<std::string> stacks;   ///< by version, good first
  std::vector<BisectionStep> steps;  ///< in the order measured
  std::string last_good;
  std::string first_bad;  ///< empty: the bad stack is no worse
  bool exact = false;     ///< no stack lies between last_good and first_bad
  std::string reason;     ///< a sentence
};

}  // namespace plumb::analysis
