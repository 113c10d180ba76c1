// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/results/run.hpp"
#include "harness/session/run/suite_run_setup.hpp"
#include "harness/session/work/planner.hpp"
#include "harness/session/work/session_context.hpp"
#include "harness/suite/suite.hpp"

namespace plumb::session {

/// Outcome of measuring a suite.
struct SuiteRunOutcome {
  results::RunId run;
  results::RunState state = results::RunState::kInterrupted;
  bool budget_ended = false;              ///< of a run whose rows count
  bool measured_last = false;             ///< of a shared run: this process measured the last of it
  std::vector<std::string> stack_faults;  ///< files of the stack that changed; none: it is sound
  std::string device_fault;               ///< empty: the device is sound
};

/// Refuses a run that could not be compared with a baseline, before anything is measured: a worker
/// is started and describes itself. Throws Error{kRefused} if they differ in more than `varied`
/// names.
void refuse_unlike(const results::RunRecord& baseline,
                   std::span<const std::string> varied,
                   const SuiteRunOptions& options,
                   const suite::ResolvedSuite& suite,
                   std::span<const PlannedModel> models);

/// Measures a suite on one stack to the end, or until the user stops it or its budget ends. What
/// looks slower than a baseline is measured again, if that is asked for. `models` are all of the
/// suite's, in its order.
[[nodiscard]] SuiteRunOutcome run_suite(const SessionContext& context,
                                        const SuiteRunOptions& options,
                                        const suite::ResolvedSuite& suite,
                                        std::span<const PlannedModel> models);

}  // namespace plumb::session
