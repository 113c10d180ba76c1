// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "harness/base/units.hpp"
#include "harness/model/key/tensor.hpp"
#include "harness/results/attributes.hpp"
#include "runners/onnxruntime/library.hpp"
#include "runners/onnxruntime/session_log.hpp"

namespace plumb::onnxruntime {

/// Levels of the runtime's graph optimisation, by its own numbers.
enum class Optimization { kOff = 0, kBasic = 1, kExtended = 2, kAll = 99 };
[[nodiscard]] std::string to_text(Optimization level);  ///< "off", "basic", "extended", "all"
[[nodiscard]] std::optional<Optimization> parse_optimization(std::string_view text);

/// Options of a session.
struct SessionSettings {
  Optimization optimization = Optimization::kAll;
  bool parallel = false;           ///< nodes side by side
  std::optional<int> threads;      ///< of its own; absent: those that all sessions share
  bool profile = false;            ///< until end_profile()
  std::filesystem::path traces{};  ///< folder of a profile that is kept, until end_trace()
  std::string provider{};          ///< of execution, before the CPU's; empty: that one alone
};

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

/// Makes the options of a session. Throws Error{kEnvironment} for a provider that is not there.
[[nodiscard]] Owned<OrtSessionOptions> make_options(const Library& library,
                                                    const SessionSettings& settings);

/// One session of the runtime: a model that it has optimised and can run.
class Session {
 public:
  /// Makes a session of a model's bytes. Throws Error{kEnvironment} with the library's reason.
  Session(const Library& library, const std::string& model, const SessionSettings& settings);
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
  SessionLog log_;                // outlives the session, which may log to its end
  bool elsewhere_ = false;        // another provider than the CPU's was asked for
  std::filesystem::path folder_;  // of the profile; empty: there is none
  Owned<OrtSession> session_;
  Seconds creation_{};
};

}  // namespace plumb::onnxruntime
