// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runners/cuda/device_program.hpp"
#include "runners/cuda/host_mirror.hpp"
#include "runners/cuda/model_mode.hpp"
#include "runners/cuda/stream_plan.hpp"

namespace plumb::cuda {

/// Runs the plan of a whole model: launch after launch, or captured at bind() as one graph, with
/// independent branches on streams of their own. What cannot be captured is run launch after
/// launch, and the reason stands in the facts. Timed from outside, launch and waiting included, as
/// one who asks for an answer waits.
class ModelProgram final : public DeviceProgram {
 public:
  /// `branches` is used by ModelMode::kStreams, whose steps share no memory but by it.
  ModelProgram(const DeviceContext& context,
               LayerSpec spec,
               DevicePlan plan,
               ModelMode mode,
               StreamPlan branches,
               Observers observers);

  [[nodiscard]] ProgramFacts facts() const override;
  void bind(std::size_t slot, std::span<const Tensor> operands, bool shared_activations) override;
  void enqueue(std::size_t slot) override;
  /// Returns the host memory from which every later execution of slot 0 copies its input. Empty for
  /// other slots, and for inputs that are not dense in a single buffer.
  [[nodiscard]] std::span<std::byte> input_bytes(std::size_t slot, std::size_t operand) override;
  /// Returns the host memory to which every later execution of slot 0 copies its output. It holds
  /// the output after a call of input_bytes() or of this function and the end of an execution.
  [[nodiscard]] std::span<const std::byte> output_bytes(std::size_t slot,
                                                        std::size_t output) override;

 protected:
  void put(std::size_t slot) override;

 private:
  void enqueue_branches(std::size_t slot);
  void enqueue_model(std::size_t slot);
  /// Finds or makes the mirror of a buffer of slot 0.
  [[nodiscard]] std::span<std::byte> mirror(std::size_t buffer,
                                            std::map<std::size_t, HostMirror>& mirrors) const;

  ModelMode mode_;
  StreamPlan branches_;
  std::vector<DeviceStream> others_;                // streams 1, 2, …
  std::vector<std::optional<DeviceEvent>> ended_;   // by step: those that another stream waits for
  std::vector<DeviceEvent> joins_;                  // by stream; first: where they fork
  std::vector<std::optional<DeviceGraph>> graphs_;  // by slot
  std::map<std::size_t, HostMirror> inputs_;        // by buffer
  std::map<std::size_t, HostMirror> outputs_;       // likewise
  std::string refusal_;
};

}  // namespace plumb::cuda
