// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/base/units.hpp"
#include "harness/model/key/tensor.hpp"
#include "harness/results/measurement.hpp"
#include "harness/worker/protocol/backend.hpp"
#include "runners/onnxruntime/library.hpp"
#include "runners/onnxruntime/nodes/onnx_model.hpp"

namespace plumb::onnxruntime {

/// Reads which nodes a session executed, each once, from its profile in Chrome's trace format.
///
/// Returns "nodes", and "operators" and "providers" with the nodes of each: "Conv:53,Relu:49". If
/// they were to be executed `elsewhere` than on the CPU, results::kCpuNodes names those that fell
/// back to it. Empty: the profile has no node.
[[nodiscard]] results::Attributes read_session_profile(std::istream& profile, bool elsewhere);

/// One session of the runtime: a model that it has optimised and can run.
class Session {
 public:
  /// Levels of the runtime's graph optimisation, by its own numbers.
  enum class Optimization { kOff = 0, kBasic = 1, kExtended = 2, kAll = 99 };

  /// Options of a session.
  struct Settings {
    Optimization optimization = Optimization::kAll;
    bool parallel = false;           ///< nodes side by side
    std::optional<int> threads;      ///< of its own; absent: those that all sessions share
    bool profile = false;            ///< until end_profile()
    std::filesystem::path traces{};  ///< folder of a profile that is kept, until end_trace()
    std::string provider{};          ///< of execution, before the CPU's; empty: that one alone
  };

  /// Makes a session of a model's bytes. Throws Error{kEnvironment} with the library's reason.
  Session(const Library& library, const std::string& model, const Settings& settings);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  Session(Session&&) = delete;
  Session& operator=(Session&&) = delete;
  ~Session();

  [[nodiscard]] OrtSession* handle() const { return session_.get(); }
  [[nodiscard]] Seconds creation() const { return creation_; }
  /// Returns the warnings and errors that the runtime logged of this session so far, one a line.
  [[nodiscard]] std::string log() const { return log_.text(); }
  /// Ends the profile and returns what it says of the nodes (read_session_profile()). Empty: none
  /// was taken.
  [[nodiscard]] results::Attributes end_profile();
  /// Ends the profile that is kept and returns its file.
  [[nodiscard]] std::filesystem::path end_trace();

 private:
  const Library& library_;
  Library::SessionLog log_;       // outlives the session, which may log to its end
  bool elsewhere_ = false;        // another provider than the CPU's was asked for
  std::filesystem::path folder_;  // of the profile; empty: there is none
  Owned<OrtSession> session_;
  Seconds creation_{};
};

[[nodiscard]] std::string to_text(
    Session::Optimization level);  ///< "off", "basic", "extended", "all"

[[nodiscard]] std::optional<Session::Optimization> parse_optimization(std::string_view text);

/// Makes the options of a session. Throws Error{kEnvironment} for a provider that is not there.
[[nodiscard]] Owned<OrtSessionOptions> make_options(const Library& library,
                                                    const Session::Settings& settings);

/// Layer or model as sessions of the runtime. Weights belong to a session, so each slot has one of
/// its own. Inputs and outputs are bound to it once, and executing it is one call.
class SessionProgram final : public worker::Program {
 public:
  /// Tensor in memory of the library.
  class Tensor {
   public:
    /// Allocates a tensor. All its bytes are zero.
    Tensor(const Library& library, const model::TensorType& type);
    [[nodiscard]] OrtValue* value() const { return value_.get(); }
    [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }

   private:
    Owned<OrtValue> value_;
    std::span<std::byte> bytes_;
  };

  /// Keeps a reference to the library. All slots use `session`, if there is one. If the settings
  /// ask for a profile, it is of the first session's first execution. Sessions are made by bind(),
  /// which throws Error{kEnvironment} if the runtime refuses the model.
  SessionProgram(const Library& library,
                 OnnxModel model,
                 const Session::Settings& settings,
                 std::shared_ptr<Session> session = nullptr);

  [[nodiscard]] worker::Program::Facts facts() const override;
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
  [[nodiscard]] std::vector<worker::Trace::File> trace(
      std::size_t slot,
      std::span<const model::Tensor> operands,
      const std::filesystem::path& folder,
      std::uint64_t executions,
      const std::vector<std::string>& steps) override;
  [[nodiscard]] worker::Program::Observation collect_counters(std::size_t slot,
                                                              Seconds budget) override;

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
  Session::Settings settings_;
  std::shared_ptr<Session> session_;  // of all slots; null: each has its own
  api::RunWithBinding::Function run_;
  std::vector<Slot> slots_;
  OrtStatus* failure_ = nullptr;  // of the first execution that failed
  Seconds creation_{};            // of the first session
  results::Attributes nodes_;     // of the session that executed them
};

}  // namespace plumb::onnxruntime
