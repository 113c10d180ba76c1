// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "harness/worker/protocol/backend.hpp"
#include "runners/cuda/driver/device.hpp"
#include "runners/cuda/driver/device_health.hpp"
#include "runners/cuda/driver/device_stream.hpp"
#include "runners/cuda/event_clock.hpp"
#include "runners/cuda/exec/execution_plan.hpp"
#include "runners/cuda/observe/counter_reader.hpp"
#include "runners/cuda/observe/profiler.hpp"

namespace plumb::cuda {

/// Program that runs a plan on the GPU. Each slot has its own memory, with operands in the plan's
/// layouts, and its own bound launches. All slots share the workspace. bind() throws
/// std::bad_alloc. An error that the GPU cannot recover from, such as an illegal address, ends the
/// process, so that the harness starts another.
class DeviceProgram : public worker::Program {
 public:
  /// Observers of the energy, kernels and counters of executions. With a tracer or a reader of
  /// counters, no time of the process counts. All must outlive the program.
  struct Observers {
    const ManagedDevice* management = nullptr;  ///< counts energy; null: not counted
    KernelTracer* tracer = nullptr;             ///< records kernels; null: not recorded
    CounterReader* counters = nullptr;          ///< reads counters; null: not read
  };

  DeviceProgram(const Device::Context& context,
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
  /// called is then known before anything is measured. Throws DynamicLibrary::Refusal and
  /// std::bad_alloc.
  void rehearse();

  [[nodiscard]] worker::Program::Facts facts() const override;
  /// Binds operands to a slot, after dropping it and all later slots. With `shared_activations`,
  /// its buffers other than weights are those of slot 0.
  void bind(std::size_t slot,
            std::span<const model::Tensor> operands,
            bool shared_activations) override;
  void enqueue(std::size_t slot) override;
  void synchronize() override;
  [[nodiscard]] std::vector<model::Tensor> outputs(std::size_t slot) override;
  /// Times the steps within one graph (EventClock::Steps). Empty: they cannot be captured.
  [[nodiscard]] std::vector<Seconds> profile(std::size_t slot) override;
  /// Observes one execution beside its time. Without tracer and counters, it captures the execution
  /// as a graph, which is not executed, and reads the launches (graph_attributes()). It then also
  /// measures "energy_joules" of an execution in ten times the budget, which includes the GPU's
  /// idle share. With a tracer, it gives the kernels that the tracer saw (trace_observation()).
  /// With a reader of counters, it gives what those counted. "kernels_missing" says why kernels or
  /// energy could not be observed, "metrics_missing" why counters could not.
  [[nodiscard]] worker::Program::Observation collect_counters(std::size_t slot,
                                                              Seconds budget) override;

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
    std::vector<Device::Memory> owned;
    std::vector<abi::DevicePointer> buffers;  ///< one per buffer of the plan, owned or slot 0's
    std::vector<DeviceLaunch> launches;
    std::optional<EventClock::Steps> steps;  ///< made when the steps are first timed
  };

  [[nodiscard]] const Device::Context& context() const { return context_; }
  [[nodiscard]] const DeviceStream& stream() const { return stream_; }
  [[nodiscard]] const ExecutionPlan& plan() const { return plan_; }
  [[nodiscard]] const Slot& slot_at(std::size_t slot) const { return *slots_.at(slot); }

 private:
  void give_memory(Slot& slot, const Slot* shared);
  /// Makes what is made once, and binds the launches to a slot's memory.
  void make_launches(Slot& slot);
  /// Fills an input of a slot.
  void fill(const Slot& slot, std::size_t input, std::span<const model::Tensor> operands);
  [[nodiscard]] worker::Program::Observation traced(std::size_t slot);
  [[nodiscard]] worker::Program::Observation counted(std::size_t slot);
  [[nodiscard]] results::Attributes launched(std::size_t slot);
  [[nodiscard]] std::vector<ManagedDevice::EnergyMark> energy_marks(std::size_t slot,
                                                                    Seconds at_most);

  const Device::Context& context_;
  Observers observers_;
  DeviceStream stream_;
  model::LayerSpec spec_;
  ExecutionPlan plan_;
  std::vector<Device::Memory> workspaces_;  // by stream
  std::vector<std::unique_ptr<Slot>> slots_;
};

/// Returns a dense tensor's bytes in another layout or, with `back`, its dense bytes from there.
[[nodiscard]] std::vector<std::byte> laid_out(const model::TensorType& type,
                                              std::span<const std::byte> bytes,
                                              TensorLayout layout,
                                              bool back);

}  // namespace plumb::cuda
