// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "harness/session/run/claimed_work.hpp"
#include "harness/session/run/model_runs.hpp"
#include "harness/session/run/suite_run_options.hpp"
#include "harness/session/stored/run_session.hpp"
#include "harness/session/work/executor.hpp"
#include "harness/session/work/session_context.hpp"

namespace plumb::session {

/// Part of one process in a run that several share (docs/reference/shared-runs.md).
///
/// Keys are claimed one by one. When all of them are measured, models are. A process measures in
/// its further processes what it has, and then looks for what others left.
class SharedMeasurement {
 public:
  /// Runs the scenarios of some models, by index. Returns false if the work was ended.
  using LoadRunner = std::function<bool(const std::vector<std::size_t>& models)>;

  /// Keeps references to all arguments but `items`, which are those of the whole suite.
  SharedMeasurement(const SessionContext& context,
                    const SuiteRunOptions& options,
                    const suite::ResolvedSuite& suite,
                    std::span<const PlannedModel> models,
                    const RunSession& session,
                    Executor& executor,
                    const std::function<bool()>& stopped,
                    std::vector<WorkItem> items);

  /// Reuses rows, calibrates and lists the work, or waits until another process has done so.
  void prepare();
  /// Measures until all of the run is done. Adds to the counts of `all`. Returns false if stopped.
  [[nodiscard]] bool measure(ExecutionSummary& all, const LoadRunner& run_loads);
  /// Returns whether this process had some of what was done last.
  [[nodiscard]] bool measured_last() const { return measured_last_; }

 private:
  /// Claims and measures keys until every key of the run is measured. Returns false if stopped.
  bool measure_layers(ExecutionSummary& all);
  /// Claims and executes models, then measures what this process has in further processes, and
  /// notes it as done. Returns false if stopped.
  bool execute_models(const LoadRunner& run_loads);
  /// Returns whether every item of the run is done.
  [[nodiscard]] bool is_done();
  [[nodiscard]] std::vector<Confirmation> unconfirmed_of(const std::set<std::string>& keys,
                                                         std::size_t processes) const;
  /// Returns the models of some items, by index.
  [[nodiscard]] std::vector<std::size_t> indices_of(const std::vector<std::string>& items) const;
  /// Returns those of some models that are executed end to end.
  [[nodiscard]] std::vector<std::size_t> executed(std::vector<std::size_t> indices) const;

  const SessionContext& context_;
  const SuiteRunOptions& options_;
  const suite::ResolvedSuite& suite_;
  std::span<const PlannedModel> models_;
  const RunSession& session_;
  Executor& executor_;
  const std::function<bool()>& stopped_;
  std::vector<WorkItem> items_;
  ClaimedWork work_;
  ModelRuns runs_;
  bool measured_last_ = false;
};

}  // namespace plumb::session
