// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "harness/worker/protocol/backend.hpp"
#include "runners/onnxruntime/nodes/onnx_model.hpp"
#include "runners/onnxruntime/session.hpp"

namespace plumb::onnxruntime {

/// Layer or model as sessions of the runtime. Weights belong to a session, so each slot has one of
/// its own. Inputs and outputs are bound to it once, and executing it is one call.
class SessionProgram final : public worker::Program {
 public:
  /// Keeps a reference to the library. All slots use `session`, if there is one. If the settings
  /// ask for a profile, it is of the first session's first execution. Sessions are made by bind(),
  /// which throws Error{kEnvironment} if the runtime refuses the model.
  SessionProgram(const Library& library,
                 OnnxModel model,
                 const SessionSettings& settings,
                 std::shared_ptr<Session> session = nullptr);

  [[nodiscard]] worker::ProgramFacts facts() const override;
  void bind(std::size_t slot,
            std::span<const model::Tensor> operands,
            bool shared_activations) override;
  void refresh_activations(std::size_t slot) override;
  void enqueue(std::size_t slot) override;
  void synchronize() override;
  [[nodiscard]] std::vector<model::Tensor> outputs(std::size_t slot) override;
  [[nodiscard]] std::span<std::byte> input_bytes(std::size_t slot, std::size_t operand) override;
  [[nodiscard]] std::span<const std::byte> output_bytes(std::size_t slot,
                                                        std::size_t output) override;
  /// Executes in a session of its own, whose first executions are in the trace, too.
  [[nodiscard]] std::vector<worker::TraceFile> trace(
      std::size_t slot,
      std::span<const model::Tensor> operands,
      const std::filesystem::path& folder,
      std::uint64_t executions,
      const std::vector<std::string>& steps) override;
  [[nodiscard]] worker::Observation collect_counters(std::size_t slot, Seconds budget) override;

 private:
  /// Inputs and outputs of a slot, which slots may share.
  struct Activations {
    std::vector<std::unique_ptr<Tensor>> inputs;  // by operand; null: a weight or left out
    std::vector<Tensor> outputs;
  };
  struct Slot {
    std::shared_ptr<Activations> activations;
    std::shared_ptr<Session> session;
    Owned<OrtIoBinding> binding;
  };

  [[nodiscard]] std::shared_ptr<Activations> make_activations(
      std::span<const model::Tensor> operands) const;
  [[nodiscard]] Slot make_slot(std::shared_ptr<Session> session,
                               std::shared_ptr<Activations> activations) const;

  const Library& library_;
  OnnxModel model_;
  SessionSettings settings_;
  std::shared_ptr<Session> session_;  // of all slots; null: each has its own
  api::RunWithBinding::Function run_;
  std::vector<Slot> slots_;
  OrtStatus* failure_ = nullptr;  // of the first execution that failed
  Seconds creation_{};            // of the first session
  results::Attributes nodes_;     // of the session that executed them
};

}  // namespace plumb::onnxruntime
