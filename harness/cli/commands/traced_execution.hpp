// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/analysis/bounds/result_set.hpp"
#include "harness/analysis/trace/trace_report.hpp"
#include "harness/cli/command.hpp"
#include "harness/session/host/worker_choice.hpp"
#include "harness/session/stored/run_record.hpp"
#include "harness/session/work/planned_model.hpp"
#include "harness/store/store.hpp"
#include "harness/suite/suite.hpp"
#include "harness/worker/protocol/execute_request.hpp"

namespace plumb::cli {

/// Where a trace comes from: a worker that makes it, or files.
struct TraceSource {
  std::vector<std::string> files;  ///< traces from elsewhere; none: one is made
  session::WorkerChoice worker;
  std::string mode = "fusion";
  std::uint64_t executions = 11;
  Seconds timeout{};
  std::string folder;  ///< for the raw trace; empty: it is not kept
};

/// Run of a store that helps to judge a trace.
struct StoredRun {
  std::unique_ptr<store::Store> store;
  results::RunRecord record;
  analysis::ResultSet results;
};

/// Opens the named run. Empty name: none.
[[nodiscard]] std::optional<StoredRun> open_run(const CommandContext& context,
                                                const std::string& name);

/// Makes the request for a mode. A mode of measured variants needs those of a run that has the
/// model. Throws Error{kUser} without one.
[[nodiscard]] worker::ModeRequest make_mode_request(const results::ExecutionMode& mode,
                                                    const session::PlannedModel& planned,
                                                    const std::optional<StoredRun>& run);

/// Makes or reads the trace of a model, matches its calls and finds what they do otherwise than the
/// model needs. Throws Error{kUser} if the model cannot be traced so.
[[nodiscard]] analysis::TraceReport trace_execution(const CommandContext& context,
                                                    const TraceSource& source,
                                                    const suite::ResolvedSuite::Model& model,
                                                    const std::optional<StoredRun>& run);

}  // namespace plumb::cli
