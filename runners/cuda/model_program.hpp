// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/model/graph/graph.hpp"
#include "harness/worker/protocol/backend.hpp"
#include "runners/cuda/device_program.hpp"
#include "runners/cuda/driver/device.hpp"
#include "runners/cuda/exec/execution_plan.hpp"
#include "runners/engine/plan/execution_plan.hpp"

namespace plumb::cuda {

/// Program that runs the plan of a whole model. It runs launch after launch, or as one graph that
/// bind() captures, where independent branches may have streams of their own. What cannot be
/// captured runs launch after launch, and the facts give the reason. It is timed from outside, with
/// launch and waiting, because that is what a caller waits for.
class ModelProgram final : public DeviceProgram {
 public:
  /// Callbacks that turn layers into steps while a model is planned.
  struct Source {
    /// Lists the variants of a layer, the library's first choice first. Throws Unsupported.
    std::function<std::vector<VariantBuilder>(const model::LayerSpec&)> builders;
    /// Makes the step of a launch of a built-in kernel on some of the plan's buffers.
    KernelStep step;
  };

  /// Stream of each step, and the steps of other streams for which it waits.
  struct StreamPlan {
    std::vector<std::size_t> stream;              ///< by step
    std::vector<std::vector<std::size_t>> waits;  ///< by step: steps before, of other streams
    std::size_t streams = 1;
  };

  /// Makes a program of the plan. Only worker::Backend::LaunchMode::kStreams uses `branches`. Its
  /// steps share no memory except where `branches` orders them.
  ModelProgram(const Device::Context& context,
               model::LayerSpec spec,
               ExecutionPlan plan,
               worker::Backend::LaunchMode mode,
               StreamPlan branches,
               DeviceProgram::Observers observers);
  /// Waits for the GPU, which may still copy to or from the host.
  ~ModelProgram() override { finish(); }
  ModelProgram(const ModelProgram&) = delete;
  ModelProgram& operator=(const ModelProgram&) = delete;
  ModelProgram(ModelProgram&&) = delete;
  ModelProgram& operator=(ModelProgram&&) = delete;

  [[nodiscard]] worker::Program::Facts facts() const override;
  void bind(std::size_t slot,
            std::span<const model::Tensor> operands,
            bool shared_activations) override;
  void enqueue(std::size_t slot) override;
  /// Executes as the first time: what the model updates is filled anew. Empty unless a graph was
  /// captured.
  [[nodiscard]] std::vector<model::Tensor> outputs_launch_by_launch(
      std::size_t slot, std::span<const model::Tensor> operands) override;
  /// Returns the host memory from which every later execution of slot 0 copies its input. Empty for
  /// other slots, and for inputs that are not dense in a single buffer.
  [[nodiscard]] std::span<std::byte> input_bytes(std::size_t slot, std::size_t operand) override;
  /// Returns the host memory to which every later execution of slot 0 copies its output. It holds
  /// the output once such an execution has ended. Empty for other slots, and for outputs that are
  /// not dense.
  [[nodiscard]] std::span<const std::byte> output_bytes(std::size_t slot,
                                                        std::size_t output) override;

 protected:
  void put(std::size_t slot) override;

 private:
  void enqueue_branches(std::size_t slot);
  /// Overwrites what the launches write, so that it cannot pass for a result of the graph.
  void spoil(std::size_t slot);
  void enqueue_model(std::size_t slot);
  /// Returns the mirror of a buffer of slot 0, and makes it at the first call.
  [[nodiscard]] std::span<std::byte> mirror(
      std::size_t buffer, std::map<std::size_t, Device::Memory::Mirror>& mirrors) const;

  worker::Backend::LaunchMode mode_;
  StreamPlan branches_;
  std::vector<DeviceStream> others_;  // streams 1, 2, …
  std::vector<std::optional<DeviceStream::Event>>
      ended_;                               // by step: those that another stream waits for
  std::vector<DeviceStream::Event> joins_;  // by stream; first: where they fork
  std::vector<std::optional<DeviceStream::Graph>> graphs_;  // by slot
  std::map<std::size_t, Device::Memory::Mirror> inputs_;    // by buffer
  std::map<std::size_t, Device::Memory::Mirror> outputs_;   // by buffer
  std::string refusal_;
};

/// Spreads steps over at most `most` streams. `steps` says what each reads and writes; no two
/// buffers share memory. A step continues the stream that ends with one of the steps it depends on,
/// the newest of them first. A branch opens another stream while there are any left. Deterministic.
[[nodiscard]] ModelProgram::StreamPlan plan_streams(std::span<const engine::PlanBuffer::Uses> steps,
                                                    std::size_t most);

using ModelPlan = engine::ModelPlan<ExecutionPlan>;

/// Plans all layers of a model (engine::GraphPlanner).
///
/// A layer without a name in `variants` takes the first choice. If that is a built-in kernel, the
/// one for the layout of its inputs is taken. Results share memory by their lifetimes, unless they
/// are to be `apart`, for steps that run side by side. Throws Unsupported, naming the layer.
[[nodiscard]] ModelPlan plan_model(const model::Graph& graph,
                                   const worker::LayerVariants& variants,
                                   const ModelProgram::Source& source,
                                   bool apart);

}  // namespace plumb::cuda
