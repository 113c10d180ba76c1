// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "harness/worker/backend.hpp"
#include "harness/worker/device_clock.hpp"
#include "runners/cuda/counter_reader.hpp"
#include "runners/cuda/device_context.hpp"
#include "runners/cuda/device_memory.hpp"
#include "runners/cuda/device_plan.hpp"
#include "runners/cuda/device_stream.hpp"
#include "runners/cuda/kernel_tracer.hpp"
#include "runners/cuda/management_library.hpp"
#include "runners/cuda/replay_clock.hpp"

namespace plumb::cuda {

/// Observers of energy, kernels and counters, beside the times of executions. All must outlive the
/// program.
struct Observers {
  const ManagedDevice* management = nullptr;  ///< counts energy; null: nobody does
  KernelTracer* tracer = nullptr;  ///< records kernels, in a process in which no time counts; null:
                                   ///< nobody does
  CounterReader* counters = nullptr;  ///< reads counters, in such a process too; null: nobody does
};

/// Runs a plan on the GPU. Each slot has its own memory with operands in the plan's layouts and
/// bound launches; the workspace is one for all. bind() throws std::bad_alloc. What the GPU cannot
/// recover from (an illegal address) ends the process, so that the harness starts another.
class DeviceProgram : public Program {
 public:
  DeviceProgram(const DeviceContext& context, LayerSpec spec, DevicePlan plan, Observers observers);

  [[nodiscard]] ProgramFacts facts() const override;
  /// Binding slot n drops the slots from n on.
  void bind(std::size_t slot, std::span<const Tensor> operands, bool shared_activations) override;
  void enqueue(std::size_t slot) override;
  void synchronize() override;
  [[nodiscard]] std::vector<Tensor> outputs(std::size_t slot) override;
  [[nodiscard]] std::vector<Seconds> profile(std::size_t slot) override;
  /// Reads the launches of one execution from a graph that it is captured as, which is not executed
  /// (graph_attributes()), and "energy_joules" of an execution, the GPU's idle share included. With
  /// a tracer shows the kernels as that saw them instead (trace_observation()), with a reader of
  /// counters what those say. What it cannot look at is told by "kernels_missing", of counters by
  /// "metrics_missing".
  [[nodiscard]] Observation observe(std::size_t slot, Seconds budget) override;

 protected:
  /// Puts the launches of one execution into the streams, as they can be captured.
  virtual void put(std::size_t slot) { DeviceProgram::enqueue(slot); }
  /// Executes without a pause and waits; returns how many executions.
  virtual std::size_t repeat(std::size_t slot);

  struct Slot {
    std::vector<DeviceMemory> owned;
    std::vector<abi::DevicePointer> buffers;  ///< of all the plan's buffers, owned or slot 0's
    std::vector<DeviceLaunch> launches;
  };

  [[nodiscard]] const DeviceContext& context() const { return context_; }
  [[nodiscard]] const DeviceStream& stream() const { return stream_; }
  [[nodiscard]] const DevicePlan& plan() const { return plan_; }
  [[nodiscard]] const Slot& slot_at(std::size_t slot) const { return *slots_.at(slot); }

 private:
  void give_memory(Slot& slot, const Slot* shared);
  void fill(const Slot& slot, std::span<const Tensor> operands, bool weights_only);
  [[nodiscard]] Observation traced(std::size_t slot);
  [[nodiscard]] Observation counted(std::size_t slot);
  [[nodiscard]] Attributes launched(std::size_t slot);
  [[nodiscard]] std::vector<EnergyMark> energy_marks(std::size_t slot, Seconds at_most);

  const DeviceContext& context_;
  Observers observers_;
  DeviceStream stream_;
  LayerSpec spec_;
  DevicePlan plan_;
  std::vector<DeviceMemory> workspaces_;  // by stream
  std::vector<std::unique_ptr<Slot>> slots_;
};

/// Runs the plan of a layer, and times it by the GPU's own clock.
class LayerProgram final : public DeviceProgram, public DeviceClock {
 public:
  LayerProgram(const DeviceContext& context, LayerSpec spec, DevicePlan plan, Observers observers);

  void bind(std::size_t slot, std::span<const Tensor> operands, bool shared_activations) override;
  [[nodiscard]] DeviceSample sample(std::span<const std::size_t> slots, bool again) override;

 protected:
  std::size_t repeat(std::size_t slot) override { return clock_.replay(std::span(&slot, 1)); }

 private:
  ReplayClock clock_;
};

/// Ends the process if the driver can do nothing in it any more: rows to come would all fail.
void end_if_lost(const DriverRefusal& refusal);

/// Copies a dense tensor into another layout, or with `back` out of it.
[[nodiscard]] std::vector<std::byte> laid_out(const TensorType& type,
                                              std::span<const std::byte> bytes,
                                              TensorLayout layout,
                                              bool back);

}  // namespace plumb::cuda
