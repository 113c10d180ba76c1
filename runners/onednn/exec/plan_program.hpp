// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <span>
#include <vector>

#include "harness/worker/protocol/backend.hpp"
#include "runners/engine/exec/lane_team.hpp"
#include "runners/engine/random_stream.hpp"
#include "runners/onednn/exec/execution_plan.hpp"
#include "runners/onednn/exec/openmp_threads.hpp"
#include "runners/onednn/exec/plan_slot.hpp"

namespace plumb::onednn {

/// Program that runs a plan on oneDNN.
///
/// Each slot has its own memory, with operands in the plan's layouts, and prebuilt argument lists.
/// The scratchpad is shared by all slots. A plan with lanes is executed by a team of threads, and
/// each lane has a scratchpad of its own. For a profile, its steps run in the calling thread with
/// the threads of one lane. bind() throws std::bad_alloc. synchronize() reports a primitive that
/// failed.
class PlanProgram : public worker::Program {
 public:
  /// Prepares the plan's execution. `placement` seeds the random offsets of the buffers, which are
  /// drawn anew each time a slot is bound. `before_step`, for tests, is called before each step of
  /// a plan with lanes, on its lane. Throws std::system_error if threads cannot be started.
  PlanProgram(const dnnl::engine& engine,
              model::LayerSpec spec,
              ExecutionPlan plan,
              std::uint64_t placement,
              std::function<void(std::size_t step)> before_step = {});

  [[nodiscard]] worker::ProgramFacts facts() const override;
  /// Binds a slot. Binding slot n drops the slots from n on.
  void bind(std::size_t slot,
            std::span<const model::Tensor> operands,
            bool shared_activations) override;
  void refresh_activations(std::size_t slot) override;
  void enqueue(std::size_t slot) override;
  void synchronize() override;
  [[nodiscard]] std::vector<model::Tensor> outputs(std::size_t slot) override;
  [[nodiscard]] std::vector<Seconds> profile(std::size_t slot) override;
  [[nodiscard]] std::vector<Seconds> profile_in_context(std::size_t slot,
                                                        const std::vector<bool>& wanted,
                                                        Bytes most) override;
  /// Executes step by step, as profile() does, under oneDNN's verbose log.
  [[nodiscard]] std::vector<worker::TraceFile> trace(
      std::size_t slot,
      std::span<const model::Tensor> operands,
      const std::filesystem::path& folder,
      std::uint64_t executions,
      const std::vector<std::string>& steps) override;
  void execute_marked(std::size_t slot, worker::StepMark& current) override;
  [[nodiscard]] std::span<std::byte> input_bytes(std::size_t slot, std::size_t operand) override;
  [[nodiscard]] std::span<const std::byte> output_bytes(std::size_t slot,
                                                        std::size_t output) override;
  [[nodiscard]] std::optional<Seconds> reorder_time() override;

 private:
  [[nodiscard]] bool has_lanes() const { return !plan_.schedule.lanes.empty(); }
  void run_lane(PlanSlot& slot, std::size_t lane);
  void run(PlanSlot& slot, const BoundStep& step);
  [[nodiscard]] Seconds timed(PlanSlot& slot, const BoundStep& step);
  /// Sets the calling thread's number of threads to that of one lane, while the result lives.
  [[nodiscard]] std::optional<OpenmpThreads> threads_of_step() const;
  /// Reads the buffers of the steps before `place` of the sequence, in the order of their last use.
  /// The sequence counts as a circle. At most the most recent `most` bytes are read.
  void read_before(std::size_t place, const PlanSlot& slot, Bytes most) const;
  /// Returns the time of one reorder, the median of a few.
  [[nodiscard]] Seconds time_reorder(const dnnl::memory::desc& from, const dnnl::memory::desc& to);

  dnnl::engine engine_;
  dnnl::stream stream_;
  model::LayerSpec spec_;
  ExecutionPlan plan_;
  engine::RandomStream placement_;
  std::uint64_t drawn_ = 0;                ///< count of numbers drawn from `placement_`
  std::vector<AlignedBytes> scratchpads_;  ///< by lane
  std::vector<std::size_t> lane_of_;       ///< by step
  std::vector<std::size_t> sequence_;      ///< order of the steps when they run one after the other
  std::vector<std::unique_ptr<PlanSlot>> slots_;
  std::atomic<int> failure_{0};  ///< bitwise or of all execution statuses
  std::function<void(std::size_t)> before_step_;
  std::vector<std::atomic<std::uint64_t>> done_;  ///< by step: number of its last execution
  std::uint64_t executions_ = 0;
  std::unique_ptr<engine::LaneTeam> team_;  ///< of a plan with lanes
};

/// Returns the bytes that one slot of a plan will take with its scratchpads, the gaps between its
/// buffers included. Throws std::bad_alloc on overflow.
[[nodiscard]] Bytes memory_needed(const ExecutionPlan& plan);

}  // namespace plumb::onednn
