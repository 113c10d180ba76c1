// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "harness/worker/protocol/backend.hpp"
#include "harness/worker/protocol/device_clock.hpp"
#include "runners/cuda/driver/device.hpp"
#include "runners/cuda/driver/device_memory.hpp"
#include "runners/cuda/driver/device_stream.hpp"
#include "runners/cuda/driver/management_library.hpp"
#include "runners/cuda/exec/execution_plan.hpp"
#include "runners/cuda/observe/counter_reader.hpp"
#include "runners/cuda/observe/kernel_tracer.hpp"
#include "runners/cuda/replay_clock.hpp"

namespace plumb::cuda {

/// Observers of the energy, kernels and counters of executions. With a tracer or a reader of
/// counters, no time of the process counts. All must outlive the program.
struct Observers {
  const ManagedDevice* management = nullptr;  ///< counts energy; null: not counted
  KernelTracer* tracer = nullptr;             ///< records kernels; null: not recorded
  CounterReader* counters = nullptr;          ///< reads counters; null: not read
};

/// Program that runs a plan on the GPU. Each slot has its own memory, with operands in the plan's
/// layouts, and its own bound launches. All slots share the workspace. bind() throws
/// std::bad_alloc. An error that the GPU cannot recover from, such as an illegal address, ends the
/// process, so that the harness starts another.
class DeviceProgram : public worker::Program {
 public:
  DeviceProgram(const DeviceContext& context,
                model::LayerSpec spec,
                ExecutionPlan plan,
                Observers observers);
  /// Waits for the GPU, which may still work where a measurement ended early.
  ~DeviceProgram() override;
  DeviceProgram(const DeviceProgram&) = delete;
  DeviceProgram& operator=(const DeviceProgram&) = delete;
  DeviceProgram(DeviceProgram&&) = delete;
  DeviceProgram& operator=(DeviceProgram&&) = delete;

  /// Executes once on zeros, in memory that is freed again. What a library refuses only when it is
  /// called is then known before anything is measured. Throws LibraryRefusal and std::bad_alloc.
  void rehearse();

  [[nodiscard]] worker::ProgramFacts facts() const override;
  /// Binds operands to a slot, after dropping it and all later slots. With `shared_activations`,
  /// its buffers other than weights are those of slot 0.
  void bind(std::size_t slot,
            std::span<const model::Tensor> operands,
            bool shared_activations) override;
  void enqueue(std::size_t slot) override;
  void synchronize() override;
  [[nodiscard]] std::vector<model::Tensor> outputs(std::size_t slot) override;
  /// Times the steps within one graph (StepClock). Empty: they cannot be captured.
  [[nodiscard]] std::vector<Seconds> profile(std::size_t slot) override;
  /// Observes one execution beside its time. Without tracer and counters, it captures the execution
  /// as a graph, which is not executed, and reads the launches (graph_attributes()). It then also
  /// measures "energy_joules" of an execution in ten times the budget, which includes the GPU's
  /// idle share. With a tracer, it gives the kernels that the tracer saw (trace_observation()).
  /// With a reader of counters, it gives what those counted. "kernels_missing" says why kernels or
  /// energy could not be observed, "metrics_missing" why counters could not.
  [[nodiscard]] worker::Observation collect_counters(std::size_t slot, Seconds budget) override;

 protected:
  /// Enqueues the launches of one execution in a form that can be captured.
  virtual void put(std::size_t slot) { DeviceProgram::enqueue(slot); }
  /// Waits for the work in the stream, whatever came of it. Memory may only go afterwards: freeing
  /// it need not wait.
  void finish() noexcept;
  /// Fills the inputs of a slot that the plan updates.
  void refill(std::size_t slot, std::span<const model::Tensor> operands);
  /// Executes without a pause, waits, and returns the number of executions.
  virtual std::size_t repeat(std::size_t slot);

  struct Slot {
    std::vector<DeviceMemory> owned;
    std::vector<abi::DevicePointer> buffers;  ///< one per buffer of the plan, owned or slot 0's
    std::vector<DeviceLaunch> launches;
    std::optional<StepClock> steps;  ///< made when the steps are first timed
  };

  [[nodiscard]] const DeviceContext& context() const { return context_; }
  [[nodiscard]] const DeviceStream& stream() const { return stream_; }
  [[nodiscard]] const ExecutionPlan& plan() const { return plan_; }
  [[nodiscard]] const Slot& slot_at(std::size_t slot) const { return *slots_.at(slot); }

 private:
  void give_memory(Slot& slot, const Slot* shared);
  /// Makes what is made once, and binds the launches to a slot's memory.
  void make_launches(Slot& slot);
  /// Fills an input of a slot.
  void fill(const Slot& slot, std::size_t input, std::span<const model::Tensor> operands);
  [[nodiscard]] worker::Observation traced(std::size_t slot);
  [[nodiscard]] worker::Observation counted(std::size_t slot);
  [[nodiscard]] results::Attributes launched(std::size_t slot);
  [[nodiscard]] std::vector<EnergyMark> energy_marks(std::size_t slot, Seconds at_most);

  const DeviceContext& context_;
  Observers observers_;
  DeviceStream stream_;
  model::LayerSpec spec_;
  ExecutionPlan plan_;
  std::vector<DeviceMemory> workspaces_;  // by stream
  std::vector<std::unique_ptr<Slot>> slots_;
};

/// Function that puts a write over so many bytes of the GPU's caches into a stream.
using Sweep = std::function<void(Bytes, const DeviceStream&)>;

/// Program that runs the plan of a layer and times it by the GPU's own clock.
class LayerProgram final : public DeviceProgram, public worker::DeviceClock {
 public:
  LayerProgram(const DeviceContext& context,
               model::LayerSpec spec,
               ExecutionPlan plan,
               Observers observers,
               Sweep sweep);

  void bind(std::size_t slot,
            std::span<const model::Tensor> operands,
            bool shared_activations) override;
  [[nodiscard]] worker::DeviceSample sample(std::span<const std::size_t> slots) override;
  [[nodiscard]] worker::DeviceSample sample_cold(std::size_t slot,
                                                 Bytes swept,
                                                 std::optional<std::size_t> warm) override;

 protected:
  std::size_t repeat(std::size_t slot) override { return clock_.replay(std::span(&slot, 1)); }

 private:
  Sweep sweep_;
  ReplayClock clock_;
};

/// Returns a dense tensor's bytes in another layout or, with `back`, its dense bytes from there.
[[nodiscard]] std::vector<std::byte> laid_out(const model::TensorType& type,
                                              std::span<const std::byte> bytes,
                                              TensorLayout layout,
                                              bool back);

}  // namespace plumb::cuda
