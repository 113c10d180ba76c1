// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "harness/worker/protocol/backend.hpp"
#include "runners/onnxruntime/nodes/onnx_model.hpp"
#include "runners/onnxruntime/session_program.hpp"

namespace plumb::onnxruntime {

/// One model in several shapes as one session of the runtime, which plans each shape by itself when
/// it comes. Slot i executes shape i.
class ShapedProgram final : public worker::Program {
 public:
  /// Keeps a reference to the library. `models` are the same but for their shapes (join_shapes()).
  ShapedProgram(const Library& library,
                std::vector<OnnxModel> models,
                const SessionSettings& settings);

  [[nodiscard]] worker::ProgramFacts facts() const override;
  /// Makes the session for the first slot. Throws Error{kUser} if the weights of a further one
  /// differ from those of the first.
  void bind(std::size_t slot,
            std::span<const model::Tensor> operands,
            bool shared_activations) override;
  void enqueue(std::size_t slot) override;
  void synchronize() override;
  [[nodiscard]] std::vector<model::Tensor> outputs(std::size_t slot) override;

 private:
  const Library& library_;
  std::vector<OnnxModel> models_;
  SessionSettings settings_;
  std::shared_ptr<Session> session_;
  std::string weights_;  // digest of those in the session
  std::vector<std::unique_ptr<SessionProgram>> shapes_;
};

}  // namespace plumb::onnxruntime
