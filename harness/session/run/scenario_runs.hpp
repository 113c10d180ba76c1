// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/session/run/suite_run_options.hpp"
#include "harness/session/work/executor.hpp"
#include "harness/session/work/session_context.hpp"

namespace plumb::session {

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
                   const SuiteRunOptions& options,
                   const std::function<std::optional<Seconds>()>& left,
                   const std::function<bool()>& stopped);

}  // namespace plumb::session
