// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/session/stored/run_session.hpp"
#include "harness/session/work/executor.hpp"
#include "harness/suite/suite.hpp"

namespace plumb::session {

/// Makes earlier rows part of a run, as the suite's policy allows. Returns the items that they do
/// not settle.
[[nodiscard]] std::vector<WorkItem> reuse_rows(store::Store& store,
                                               const RunSession& session,
                                               const suite::ResolvedSuite& suite,
                                               std::vector<WorkItem> items);

/// Measures the ceilings, unless the store has some of this environment that the policy allows.
void calibrate_run(store::Store& store,
                   const RunSession& session,
                   const suite::ReusePolicy& reuse,
                   Executor& executor);

/// Measures the machine's controls, for comparisons over boots and hosts. Returns whether that
/// worked.
bool control_run(store::Store& store, const RunSession& session, Executor& executor);

}  // namespace plumb::session
