// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/session/paired/paired_rounds.hpp"
#include "harness/session/stored/run_session.hpp"
#include "harness/session/work/planner.hpp"
#include "harness/suite/suite.hpp"

namespace plumb::session {

/// One side of paired rounds, with the header of its run, which has not begun yet.
struct PairedRun {
  PairedSide side;
  results::RunHeader header;
};

/// Makes the side of a stack, with the environment that a worker describes on a device. The
/// environment's method says "paired", because short samples of many processes must not be mixed
/// with a run's, nor reused for them.
[[nodiscard]] PairedRun paired_run(const std::string& stack,
                                   int threads,
                                   const suite::ResolvedSuite& suite,
                                   std::span<const PlannedModel> models,
                                   std::vector<std::string> command,
                                   const std::string& device = {});

/// Checks that two sides differ only in their stacks: libraries, and the variables that they set.
/// Throws Error{kRefused}.
void refuse_unlike(const PairedRun& baseline, const PairedRun& candidate);

/// Two runs that are measured in pairs, from their beginning to their end.
class PairedSession {
 public:
  /// Begins both runs in the store. Keeps a reference to the store.
  PairedSession(store::Store& store, PairedRun baseline, PairedRun candidate);

  [[nodiscard]] const PairedSide& baseline() const { return baseline_.side; }
  [[nodiscard]] const PairedSide& candidate() const { return candidate_.side; }
  /// Returns a line for each file of a stack that changed while it was measured.
  [[nodiscard]] std::vector<std::string> stack_faults() const;
  /// Ends both runs in this state.
  void finish(results::RunState state);

 private:
  PairedRun baseline_;
  PairedRun candidate_;
  RunSession baseline_session_;
  RunSession candidate_session_;
};

}  // namespace plumb::session
