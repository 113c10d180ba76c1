// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "harness/results/execution_mode.hpp"
#include "harness/session/paired/paired_rounds.hpp"
#include "harness/session/work/model_source.hpp"
#include "harness/session/work/planner.hpp"
#include "harness/suite/suite.hpp"

namespace plumb::session {

/// Returns the modes in which pairs execute models unless others are named: plain and fused.
[[nodiscard]] std::vector<results::ExecutionMode> default_paired_modes();

/// Returns what both sides measure: the suite's layers, each once, and its models in the given
/// modes. A mode of another type is for models in f32 only, and models in 8 bits are not executed.
/// None of the modes may need times, as best_variant does.
[[nodiscard]] PairedWork collect_work(const ModelSource& source,
                                      const suite::ResolvedSuite& suite,
                                      std::span<const PlannedModel> models,
                                      std::span<const results::ExecutionMode> modes);

}  // namespace plumb::session
