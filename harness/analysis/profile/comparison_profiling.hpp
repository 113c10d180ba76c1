// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "harness/analysis/compare/run_comparison.hpp"
#include "harness/analysis/profile/profiling_choice.hpp"
#include "harness/model/graph/graph.hpp"

namespace plumb::analysis {

/// Chooses what is profiled to explain a comparison of two runs, and controls. `graphs` are those
/// of the runs' models, by subject. Pure.
[[nodiscard]] ProfilingChoice choose_comparison_profiling(
    const RunComparison& comparison, const std::map<std::string, const model::Graph*>& graphs);

}  // namespace plumb::analysis
