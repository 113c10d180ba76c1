// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>

#include "harness/plan/executor.hpp"
#include "harness/plan/planner.hpp"

namespace plumb {

/// Asks for a model of a suite to be executed, in the mode plain. Throws Error{kUser} if it cannot
/// be built.
[[nodiscard]] ExecuteRequest execute_request_of(const ResolvedSuite::Model& model);

/// Executes each model of a suite end to end, in a worker process of its own and in the modes of
/// mode_requests(), and stores what comes of it as the run's records of kind "execution". Models
/// whose modes all have a time in the run already are left out. `stopped` is asked before each
/// model; returns false if it ended the work.
bool execute_models(Executor& executor,
                    Store& store,
                    const RunId& run,
                    const ResolvedSuite& suite,
                    std::span<const PlannedModel> models,
                    const Shard& shard,
                    const std::vector<ExecutionMode>& modes,
                    const std::function<bool()>& stopped);

}  // namespace plumb
