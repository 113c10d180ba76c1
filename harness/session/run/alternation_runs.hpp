// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "harness/results/execution_mode.hpp"
#include "harness/session/work/executor.hpp"
#include "harness/session/work/planner.hpp"
#include "harness/session/work/session_context.hpp"

namespace plumb::session {

/// Executes the shapes of a suite's models one after the other, in each mode (none given: fusion),
/// in one more worker process, unless `processes` processes of the run did so or the backend
/// refused. Modes that rest on variants or scales of one shape are left out.
///
/// Only models are executed of which the first shape is `chosen`, by index. The times of each shape
/// are stored as the run's records of kind "alternation", one for each turn. A failure is one
/// record of the first turn. Returns false if `stopped`, asked before each, or the user ended the
/// work.
bool execute_alternations(const SessionContext& context,
                          Executor& executor,
                          const results::RunId& run,
                          const suite::ResolvedSuite& suite,
                          std::span<const PlannedModel> models,
                          std::span<const std::size_t> chosen,
                          const std::vector<results::ExecutionMode>& modes,
                          std::size_t processes,
                          const std::function<bool()>& stopped);

}  // namespace plumb::session
