// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "harness/base/units.hpp"
#include "harness/measure/sampler.hpp"
#include "harness/results/execution.hpp"
#include "runners/engine/exec/ready_model.hpp"

namespace plumb::engine {

/// Profile of a ready model, whose steps are timed in many passes and in two ways.
///
/// As it runs, the steps are timed one after the other. In context, each step is timed as it finds
/// the machine inside the model (Program::profile_in_context). Steps are equal if they are the same
/// step of the same key and variant, after equal steps. A pass times a few of the equal steps for
/// all of them, and the next pass times others. Each reorder is timed by itself.
class ModelProfile {
 public:
  /// Keeps a reference to `ready`.
  explicit ModelProfile(const ReadyModel& ready);

  /// Adds the next of a pass's `parts`, then further parts, up to `most` in all, while `budget`
  /// lasts.
  ///
  /// A pass in context is split by its steps, so that the whole program can be timed between its
  /// parts. The pass as it runs is made with the first part. `parts` may change between passes
  /// only. Adds nothing if the program cannot time its steps.
  void add(std::size_t parts, std::size_t most, Seconds budget, const measure::Clock& clock);

  /// Ends a round, because later samples find the machine in another state. A pass that a round's
  /// end interrupts counts to both rounds.
  void end_round();

  /// Returns the mean time of a whole pass of both kinds. Zero if the program cannot time its steps
  /// in context.
  [[nodiscard]] Seconds pass_time() const;

  /// Returns what each layer's steps take, by the medians of all passes.
  ///
  /// A layer's own time and that of the reorders before it are apart. Its time in context contains
  /// both, less the harness overhead `floor` for each step. Layers come in the order of execution.
  /// The last entry, without layers, makes the outputs dense. Empty without a pass.
  [[nodiscard]] std::vector<results::Execution::Layer> layers(Seconds floor) const;

  /// Returns the model's time from its steps in context, one after the other or side by side.
  ///
  /// Steps run side by side where the program has them so, each as soon as its needs have ended.
  /// That such steps compete for bandwidth, caches and clock is ignored. The interval is that of
  /// rounds (section_interval()), because steps of one round are not independent, and one may be
  /// timed for many. `floor` is the harness overhead of one step. Returns nothing if the program
  /// cannot time its steps in context.
  [[nodiscard]] std::optional<measure::MeasuredTime> in_context(Seconds floor) const;

 private:
  struct Sample {
    Seconds time{};
    std::size_t round = 0;
  };

  void add_profile();
  void choose_steps();
  void add_in_context(std::size_t parts);
  /// Returns the time in context of each step. With a round, only the samples of that round count,
  /// where a step has any.
  [[nodiscard]] std::vector<measure::MeasuredTime> steps_in_context(
      Seconds floor, std::optional<std::size_t> round = std::nullopt) const;
  /// Returns when the last step ends, by the medians.
  [[nodiscard]] Seconds together(const std::vector<measure::MeasuredTime>& steps) const;

  const ReadyModel& ready_;
  std::vector<std::size_t> group_of_;             ///< by step: its group of equal steps
  std::vector<std::vector<std::size_t>> groups_;  ///< by group: its steps, ascending
  std::vector<std::size_t> next_;                 ///< by group: which of its steps is timed next
  std::vector<std::size_t> chosen_;               ///< steps that this pass times in context
  std::size_t part_ = 0;                          ///< next part of this pass
  std::size_t passes_ = 0;                        ///< number of complete passes
  Seconds spent_{};                               ///< time of these and of the parts since
  std::size_t rounds_ = 0;                        ///< number of rounds that ended
  std::vector<std::vector<Seconds>> times_;       ///< by step, one a pass
  std::vector<std::vector<Sample>> in_context_;   ///< by group; empty: the program cannot tell
};

}  // namespace plumb::engine
