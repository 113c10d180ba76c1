// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/results/execution.hpp"
#include "harness/worker/protocol/backend.hpp"
#include "harness/worker/protocol/worker_service.hpp"
#include "runners/engine/bench/layer_timing.hpp"
#include "runners/engine/exec/ready_model.hpp"
#include "runners/engine/exec/reference_comparison.hpp"
#include "runners/engine/profile/address_sampler.hpp"
#include "runners/engine/profile/model_profile.hpp"

namespace plumb::engine {

/// Benchmark of a whole model, executed end to end in each mode of a request. One query follows the
/// other, from dense inputs in their buffers to dense outputs in theirs.
///
/// All modes are prepared before any is timed, and are timed in turns, so that changes of the
/// machine affect all of them alike. A request that is in turns with another worker's waits before
/// each round until it may go on. Modes that do not fit into memory together are timed one after
/// the other. A failure of a mode is its outcome. A mode is not timed if its result is not finite,
/// or differs from the reference or the first mode's by more than rounding. It is not executed if
/// its verification needs more memory than is free.
class ModelBenchmark {
 public:
  /// Keeps references to all arguments.
  ModelBenchmark(worker::Backend& backend,
                 LayerTiming& timing,
                 const worker::ExecuteRequest& request);

  /// Executes all modes and emits one execution for each, in order. Reports about once a second.
  void run(
      const std::function<void(results::Execution)>& emit,
      const worker::ExecuteReport& report =
          [](const worker::ExecuteRequest::Progress& /*progress*/) {},
      const worker::AwaitTurn& await_turn = [] {});

  /// Returns what was sampled of each mode that run() timed, by its text, for a request that asked
  /// for that. Called once.
  [[nodiscard]] std::map<std::string, worker::Profile> take_samples();

 private:
  struct Mode {
    results::Execution execution;
    ReadyModel ready;
    Bytes on_host;       ///< memory of the program, where that is the host's
    Bytes verification;  ///< memory of the host that verifying it takes beside the program
    Seconds wall{};
    results::SampledProfile samples;  ///< of the blocks, where they are sampled
    std::vector<Seconds> of_rounds;   ///< median of each round's samples
    std::size_t ended = 0;            ///< number of samples of the completed rounds
  };

  void guard(Mode& mode, const std::function<void()>& step);
  void prepare(const RequestedModel& model, std::size_t index);
  void finish(const RequestedModel& model, std::size_t index, const worker::ExecuteReport& report);
  [[nodiscard]] Bytes verification_memory(const Mode& mode) const;
  /// Compares a mode's outputs with the float64 reference, in the order of the modes and as long as
  /// that is affordable. Reports while it does, since it may take as long as a row may be silent.
  void check(const RequestedModel& model, Mode& mode, const worker::ExecuteReport& report);
  /// Compares a mode's outputs with the first mode's.
  void compare(const RequestedModel& model, Mode& mode);
  /// Times one block of executions of a mode, again on a disturbed host, and adds it to the others.
  void add_repeatable_block(Mode& mode,
                            measure::TimedRegion& region,
                            const measure::SamplingPlan& plan);
  /// Times one block of executions of a mode, in one way or the other.
  void time_block(Mode& mode, measure::TimedRegion& region, const measure::SamplingPlan& plan);
  /// Times one block of executions of a mode, then the next parts of a pass over its steps. A pass
  /// has `parts` parts. The sampling budget is divided over `rounds` rounds of `parts` turns.
  void take_turn(Mode& mode, ModelProfile& profile, std::size_t rounds, std::size_t parts);
  /// Times modes [first, last) in turns, then collects counters. After the first round, no round
  /// begins once they have taken a minute for each mode.
  void time(std::size_t first,
            std::size_t last,
            const worker::ExecuteReport& report,
            const worker::AwaitTurn& await_turn);
  static void end_round(Mode& mode, ModelProfile& profile);
  /// Summarizes a mode's samples. Each end of the median's interval is the wider of two: by ranks,
  /// as if samples were independent, and by rounds.
  static void sum_up(Mode& mode);
  void report_share(double share, const worker::ExecuteReport& report);
  /// Reports that a part of the preparation or of the verification was done: a little progress, so
  /// that whoever waits does not take it for a hang.
  void report_part(const worker::ExecuteReport& report);
  void look_at(Mode& mode);
  /// Fails a mode of training whose loss is no finite number after the steps that were timed.
  void check_loss(Mode& mode) const;
  [[nodiscard]] bool fit_together() const;
  [[nodiscard]] std::size_t samples_in_round() const;

  worker::Backend& backend_;
  LayerTiming& timing_;
  const worker::ExecuteRequest& request_;
  std::vector<Mode> modes_;
  std::optional<BlockSampler> sampler_;            // of the modes that are timed
  std::vector<model::Tensor> expected_;            // the first mode's outputs
  ReferenceComparison reference_{20'000'000'000};  // multiply-accumulates take some seconds
  Seconds began_{};                                // of the preparation
  Seconds reported_{};                             // of the last report
  double share_ = 0.0;                             // so far
};

}  // namespace plumb::engine
