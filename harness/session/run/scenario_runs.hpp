// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "harness/session/run/suite_run.hpp"
#include "harness/session/work/executor.hpp"
#include "harness/session/work/session_context.hpp"
#include "harness/suite/suite.hpp"
#include "harness/worker/protocol/requests.hpp"

namespace plumb::session {

/// Returns the load that a scenario of a suite asks for, without budget. Absent if its only limits
/// are on tokens: these are not judged here.
[[nodiscard]] std::optional<loadgen::RequestedLoad> load_of(const suite::Scenario& scenario);

/// Returns the batch sizes that are prepared for a scenario: one sample and the largest batch.
/// Where batches are of any size, the powers of two between are added.
[[nodiscard]] std::vector<std::size_t> list_buckets(const suite::Scenario& scenario);

/// Returns the batching policy of a scenario.
[[nodiscard]] loadgen::DynamicBatcher::Policy batches_of(const suite::Scenario& scenario);

/// Checks every scenario of a suite before anything is measured. Throws Error{kUser} with the model
/// and the scenario.
void check_loads(const suite::ResolvedSuite& suite);

/// Runs each scenario of a suite's chosen models, by index, in each wanted mode (none: plain). Each
/// takes a worker process of its own, and its result is stored as the run's record of kind "load".
/// Scenarios with a conclusive load in the run are left out. The others share what is left of the
/// budget equally; `left` returns that, absent without a budget. Returns false if `stopped`, asked
/// before each, or the user ended the work.
bool execute_loads(const SessionContext& context,
                   Executor& executor,
                   const results::RunHeader& run,
                   const suite::ResolvedSuite& suite,
                   std::span<const PlannedModel> models,
                   std::span<const std::size_t> chosen,
                   const SuiteRun::Options& options,
                   const std::function<std::optional<Seconds>()>& left,
                   const std::function<bool()>& stopped);

}  // namespace plumb::session
