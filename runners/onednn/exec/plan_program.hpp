// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/base/file_io.hpp"
#include "harness/base/units.hpp"
#include "harness/worker/protocol/backend.hpp"
#include "runners/engine/exec/schedule.hpp"
#include "runners/engine/random_stream.hpp"
#include "runners/onednn/exec/execution_plan.hpp"
#include "runners/onednn/exec/machine.hpp"
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
  /// oneDNN's verbose log in a file, with lines that say which step of a plan executes.
  ///
  /// oneDNN writes to standard output, which leads into the file while this lives. The lines in
  /// between are those that importers::read_onednn_log() knows. Not thread-safe.
  class Log {
   public:
    /// Throws Error{kEnvironment} if the file cannot be written.
    explicit Log(const std::filesystem::path& file);
    ~Log();
    Log(const Log&) = delete;
    Log& operator=(const Log&) = delete;
    Log(Log&&) = delete;
    Log& operator=(Log&&) = delete;

    /// Writes the number of threads of a step, and of the processors that these may use.
    void write_threads(int threads, int processors);
    void begin_execution();
    void end_execution();
    /// `layers` are the layers of the model that the step executes: "3+4".
    void begin_step(std::size_t step, const std::string& layers);
    void end_step(Seconds time);
    /// Ends the log. Throws Error{kEnvironment} if it was not written wholly.
    void close();

   private:
    void restore() noexcept;

    FileDescriptor output_;  // standard output, as it was; invalid once restored
    bool failed_ = false;
  };

  /// Prepares the plan's execution. `placement` seeds the random offsets of the buffers, which are
  /// drawn anew each time a slot is bound. `before_step`, for tests, is called before each step of
  /// a plan with lanes, on its lane. Throws std::system_error if threads cannot be started.
  PlanProgram(const dnnl::engine& engine,
              model::LayerSpec spec,
              ExecutionPlan plan,
              std::uint64_t placement,
              std::function<void(std::size_t step)> before_step = {});

  [[nodiscard]] worker::Program::Facts facts() const override;
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
                                                        const std::vector<bool>& wanted) override;
  /// Executes step by step, as profile() does, under oneDNN's verbose log.
  [[nodiscard]] std::vector<worker::Trace::File> trace(
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
  void run(PlanSlot& slot, const PlanSlot::BoundStep& step);
  [[nodiscard]] Seconds timed(PlanSlot& slot, const PlanSlot::BoundStep& step);
  /// Sets the calling thread's number of threads to that of one lane, while the result lives.
  [[nodiscard]] std::optional<OpenmpThreads> threads_of_step() const;
  /// Returns the time of one reorder, the median of a few.
  [[nodiscard]] Seconds time_reorder(const dnnl::memory::desc& from, const dnnl::memory::desc& to);

  dnnl::engine engine_;
  dnnl::stream stream_;
  model::LayerSpec spec_;
  ExecutionPlan plan_;
  engine::RandomStream placement_;
  std::uint64_t drawn_ = 0;  ///< count of numbers drawn from `placement_`
  std::vector<PlanSlot::Block::AlignedBytes> scratchpads_;  ///< by lane
  std::vector<std::size_t> lane_of_;                        ///< by step
  std::vector<std::size_t> sequence_;  ///< order of the steps when they run one after the other
  std::vector<std::unique_ptr<PlanSlot>> slots_;
  std::atomic<int> failure_{0};  ///< bitwise or of all execution statuses
  std::function<void(std::size_t)> before_step_;
  std::vector<std::atomic<std::uint64_t>> done_;  ///< by step: number of its last execution
  std::uint64_t executions_ = 0;
  std::unique_ptr<engine::BranchSchedule::Team> team_;  ///< of a plan with lanes
};

/// Returns the bytes that one slot of a plan will take with its scratchpads, the gaps between its
/// buffers included. Throws std::bad_alloc on overflow.
[[nodiscard]] Bytes memory_needed(const ExecutionPlan& plan);

}  // namespace plumb::onednn
