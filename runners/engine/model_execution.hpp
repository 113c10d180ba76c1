// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "harness/results/execution.hpp"
#include "harness/worker/backend.hpp"
#include "harness/worker/execute_request.hpp"
#include "runners/engine/layer_timing.hpp"
#include "runners/engine/model_profile.hpp"
#include "runners/engine/ready_model.hpp"

namespace plumb {

/// Executes a whole model end to end in each mode of a request and times it: one query after the
/// other, from the dense inputs in their buffers to the dense outputs in theirs.
///
/// All modes are ready before any is timed, and are timed in turns, so that what the machine does
/// meanwhile happens to all of them alike; one after the other only if they do not fit into memory
/// together. Whatever goes wrong with a mode is its outcome; what is wrong is not timed: nothing
/// that is not finite, and nothing that differs from the first mode's result by more than rounding
/// (tolerated_difference()).
class ModelExecution {
 public:
  /// Keeps references to all of them but the size.
  ModelExecution(Backend& backend,
                 LayerTiming& timing,
                 Bytes last_level_cache,
                 const ExecuteRequest& request);

  /// Emits one execution a mode, in order. Reports about once a second while they are timed.
  void run(
      const std::function<void(Execution)>& emit,
      const ExecuteReport& report = [](const ExecuteProgress& /*progress*/) {});

 private:
  struct Mode {
    Execution execution;
    ReadyModel ready;
    Seconds wall{};
    std::vector<Seconds> of_rounds;  ///< median of each round's samples
    std::size_t ended = 0;           ///< samples of rounds that ended
  };

  void guard(Mode& mode, const std::function<void()>& step);
  void prepare(const RequestedModel& model, std::size_t index);
  void finish(const RequestedModel& model, std::size_t index);
  void compare(Mode& mode);
  /// Times one block of executions and, beside it, steps of the plan: at least the next of a pass's
  /// `parts`. `rounds` share the budget.
  void take_turn(Mode& mode, ModelProfile& profile, std::size_t rounds, std::size_t parts);
  /// Times modes [first, last) in turns, and looks at them then. After the first round no other
  /// begins once they have taken a minute a mode.
  void time(std::size_t first, std::size_t last, const ExecuteReport& report);
  static void end_round(Mode& mode, ModelProfile& profile);
  /// Sums up a mode's samples. The median's interval is the wider at each end of two: by ranks, as
  /// if samples were independent, and by rounds.
  static void sum_up(Mode& mode);
  void report_share(double share, const ExecuteReport& report);
  void look_at(Mode& mode);
  [[nodiscard]] bool fit_together() const;

  Backend& backend_;
  LayerTiming& timing_;
  Bytes last_level_cache_;
  const ExecuteRequest& request_;
  std::vector<Mode> modes_;
  std::vector<Tensor> expected_;  // the first mode's outputs
  Seconds began_{};               // of the first turn
  Seconds reported_{};            // of the last report
};

}  // namespace plumb
