// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/results/execution.hpp"
#include "harness/session/host/worker_choice.hpp"
#include "harness/session/paired/paired_rounds.hpp"
#include "harness/session/stored/run_session.hpp"
#include "harness/session/work/planner.hpp"
#include "harness/session/work/session_context.hpp"
#include "harness/suite/suite.hpp"

namespace plumb::session {

/// Returns the modes in which pairs execute models unless others are named: plain and fused.
[[nodiscard]] std::vector<results::ExecutionMode> default_paired_modes();

/// Options for measuring in pairs.
struct PairedOptions {
  WorkerChoice worker{};               ///< with the stack of a side that names no other
  std::vector<std::string> command{};  ///< as it is recorded
  std::size_t pairs = 20;              ///< at most
  std::optional<Seconds> budget{};     ///< no pair begins after it
  Seconds row_timeout{60.0};           ///< of silence from a worker
  /// Of models end to end, as collect_work() takes them. None: layers only.
  std::vector<results::ExecutionMode> modes = default_paired_modes();
};

/// One side of paired rounds, with the header of its run, which has not begun yet.
struct PairedRun {
  PairedSide side;
  results::RunHeader header;
};

/// Makes the side of a stack, whatever stack the options name, with the environment that a worker
/// describes. The environment's method says "paired", because short samples of many processes must
/// not be mixed with a run's, nor reused for them.
[[nodiscard]] PairedRun paired_run(const std::string& stack,
                                   const suite::ResolvedSuite& suite,
                                   std::span<const PlannedModel> models,
                                   const PairedOptions& options);

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

/// Returns what both sides measure: the suite's layers, each once, and its models in the given
/// modes. A mode of another type is for models in f32 only, and models in 8 bits are not executed.
/// None of the modes may need times, as best_variant does. Shapes that alternate are executed by
/// themselves, which is logged and said in `left_out`.
[[nodiscard]] PairedWork collect_work(const ModelSource& source,
                                      const suite::ResolvedSuite& suite,
                                      std::span<const PlannedModel> models,
                                      std::span<const results::ExecutionMode> modes);

}  // namespace plumb::session
