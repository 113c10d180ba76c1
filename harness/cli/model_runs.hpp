// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>

#include "harness/plan/executor.hpp"
#include "harness/plan/planner.hpp"

namespace plumb {

/// Executes each f32 model of a suite end to end, in a worker process of its own, and stores what
/// comes of it as the run's records of kind "execution". Models that the run has a time for already
/// are left out. `stopped` is asked before each model; returns false if it ended the work.
bool execute_models(Executor& executor,
                    Store& store,
                    const RunId& run,
                    const ResolvedSuite& suite,
                    std::span<const PlannedModel> models,
                    const Shard& shard,
                    const std::function<bool()>& stopped);

}  // namespace plumb
