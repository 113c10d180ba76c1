// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "harness/base/units.hpp"
#include "harness/measure/sampler.hpp"
#include "harness/results/execution.hpp"
#include "runners/engine/ready_model.hpp"

namespace plumb {

/// Looks inside a ready model: executes it step by step, over and over, and times its steps.
///
/// As it runs: one step after the other. In turn: each as it finds the machine
/// (Program::profile_in_turn); of steps that are the same step of the same key and variant, after
/// the same, a few are timed for all of them, others in every pass; reorders each by itself.
class ModelProfile {
 public:
  /// Keeps a reference. `most`: of what other steps used to read before one in turn.
  ModelProfile(const ReadyModel& ready, Bytes most);

  /// Adds the next of a pass's `parts`, then up to `most` in all as long as `budget` is not spent.
  /// A pass in turn is split by its steps, so that the whole program can be timed between; the pass
  /// as it runs is made with its first part. `parts` may change between passes only. Adds nothing
  /// if the program cannot tell.
  void add(std::size_t parts, std::size_t most, Seconds budget, const Clock& clock);

  /// Ends a round: what follows finds the machine in another state. With rounds that end within a
  /// pass, that pass counts to both.
  void end_round();

  /// Returns how long a whole pass of both kinds took in the mean. Zero: the program cannot time
  /// its steps in turn.
  [[nodiscard]] Seconds pass_time() const;

  /// Adds up what each layer's steps take by the medians of all passes: its own time, the reorders
  /// before it apart, and all of it in turn with the `floor` of timing one step subtracted. Layers
  /// stand in the order executed; last, without layers, what makes the outputs dense. Empty without
  /// a pass.
  [[nodiscard]] std::vector<ExecutedLayer> layers(Seconds floor) const;

  /// Puts the steps in turn together: one after the other, or side by side where the program has
  /// them so, each as soon as what it needs has ended; what such steps take from each other (bytes,
  /// caches, clock) is not in it. The interval is that of rounds (section_interval()): steps of one
  /// round are not independent, and one may be timed for many. Absent if the program cannot tell.
  [[nodiscard]] std::optional<TimeInTurn> in_turn(Seconds floor) const;

 private:
  struct Sample {
    Seconds time{};
    std::size_t round = 0;
  };

  void add_profile();
  void choose_steps();
  void add_in_turn(std::size_t parts);
  /// Returns the time in turn of each step; with a round, that of its samples alone where it has
  /// any.
  [[nodiscard]] std::vector<TimeInTurn> steps_in_turn(
      Seconds floor, std::optional<std::size_t> round = std::nullopt) const;
  /// Returns when the last step ends, by the medians.
  [[nodiscard]] Seconds together(const std::vector<TimeInTurn>& steps) const;

  const ReadyModel& ready_;
  Bytes most_;
  std::vector<std::size_t> group_of_;             ///< by step: of those that are equal
  std::vector<std::vector<std::size_t>> groups_;  ///< their steps, ascending
  std::vector<std::size_t> next_;                 ///< by group: which of its steps is timed next
  std::vector<std::size_t> chosen_;               ///< the steps that this pass times in turn
  std::size_t part_ = 0;                          ///< of this pass: the next
  std::size_t passes_ = 0;                        ///< complete
  Seconds spent_{};                               ///< on them, and on the parts behind them
  std::size_t rounds_ = 0;                        ///< ended
  std::vector<std::vector<Seconds>> times_;       ///< by step, one a pass
  std::vector<std::vector<Sample>> in_turn_;      ///< by group; empty: the program cannot tell
};

}  // namespace plumb
