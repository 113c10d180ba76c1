// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/worker/protocol/launch_mode.hpp"
#include "runners/cuda/device_program.hpp"
#include "runners/cuda/driver/device_memory.hpp"
#include "runners/engine/plan/model_plan.hpp"

namespace plumb::cuda {

/// Stream of each step, and the steps of other streams for which it waits.
struct StreamPlan {
  std::vector<std::size_t> stream;              ///< by step
  std::vector<std::vector<std::size_t>> waits;  ///< by step: steps before, of other streams
  std::size_t streams = 1;
};

/// Spreads steps over at most `most` streams. `steps` says what each reads and writes; no two
/// buffers share memory. A step continues the stream that ends with one of the steps it depends on,
/// the newest of them first. A branch opens another stream while there are any left. Deterministic.
[[nodiscard]] StreamPlan plan_streams(std::span<const engine::StepBuffers> steps, std::size_t most);

/// Program that runs the plan of a whole model. It runs launch after launch, or as one graph that
/// bind() captures, where independent branches may have streams of their own. What cannot be
/// captured runs launch after launch, and the facts give the reason. It is timed from outside, with
/// launch and waiting, because that is what a caller waits for.
class ModelProgram final : public DeviceProgram {
 public:
  /// Makes a program of the plan. Only worker::LaunchMode::kStreams uses `branches`. Its steps
  /// share no memory except where `branches` orders them.
  ModelProgram(const DeviceContext& context,
               model::LayerSpec spec,
               ExecutionPlan plan,
               worker::LaunchMode mode,
               StreamPlan branches,
               Observers observers);
  /// Waits for the GPU, which may still copy to or from the host.
  ~ModelProgram() override { finish(); }
  ModelProgram(const ModelProgram&) = delete;
  ModelProgram& operator=(const ModelProgram&) = delete;
  ModelProgram(ModelProgram&&) = delete;
  ModelProgram& operator=(ModelProgram&&) = delete;

  [[nodiscard]] worker::ProgramFacts facts() const override;
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
  [[nodiscard]] std::span<std::byte> mirror(std::size_t buffer,
                                            std::map<std::size_t, HostMirror>& mirrors) const;

  worker::LaunchMode mode_;
  StreamPlan branches_;
  std::vector<DeviceStream> others_;                // streams 1, 2, …
  std::vector<std::optional<DeviceEvent>> ended_;   // by step: those that another stream waits for
  std::vector<DeviceEvent> joins_;                  // by stream; first: where they fork
  std::vector<std::optional<DeviceGraph>> graphs_;  // by slot
  std::map<std::size_t, HostMirror> inputs_;        // by buffer
  std::map<std::size_t, HostMirror> outputs_;       // by buffer
  std::string refusal_;
};

}  // namespace plumb::cuda
