// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "harness/analysis/compare/rounds/confirmation.hpp"
#include "harness/session/run/model_runs.hpp"
#include "harness/session/stored/run_session.hpp"
#include "harness/session/work/executor.hpp"
#include "harness/session/work/session_context.hpp"

namespace plumb::session {

/// Baseline against which suspects of a run are measured again.
struct ConfirmationPlan {
  results::RunId baseline;
  std::vector<std::string> varied;  ///< what differs from it on purpose
  std::size_t processes = 5;        ///< fresh ones, where the baseline's stack is not at hand
};

/// Lists the keys of a run that fewer than `processes` fresh processes have confirmed.
[[nodiscard]] std::vector<Confirmation> unconfirmed_keys(const store::Store& store,
                                                         const results::RunId& run,
                                                         std::size_t processes);

/// Returns the number of the last process that a run has results of; 0: none.
[[nodiscard]] std::int64_t last_process(const store::Store& store, const results::RunId& run);

/// Second measurement of what looks slower than a baseline, at the end of a run.
class SuspectConfirmation {
 public:
  /// Keeps references to all arguments. `processes` are those that the run itself took.
  SuspectConfirmation(const SessionContext& context,
                      RunSession& session,
                      Executor& executor,
                      const suite::ResolvedSuite& suite,
                      std::span<const PlannedModel> models,
                      const ConfirmationPlan& plan,
                      std::size_t processes)
      : context_(context),
        session_(session),
        executor_(executor),
        suite_(suite),
        models_(models),
        plan_(plan),
        processes_(processes) {}

  /// Measures suspects again before they count as slower. If the baseline's stack is at hand, that
  /// is done in pairs with it, else in fresh processes. `start` is when the run began, on the
  /// steady clock: about a quarter of its time is spent at most.
  void confirm(Seconds start, int threads, ModelRuns& runs);

 private:
  [[nodiscard]] analysis::Suspects suspects(analysis::SuspectRule rule) const;
  [[nodiscard]] bool confirm_in_pairs(Seconds start, int threads);
  void confirm_alone(Seconds start, ModelRuns& runs);

  const SessionContext& context_;
  RunSession& session_;
  Executor& executor_;
  const suite::ResolvedSuite& suite_;
  std::span<const PlannedModel> models_;
  const ConfirmationPlan& plan_;
  std::size_t processes_;
};

}  // namespace plumb::session
