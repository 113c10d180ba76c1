// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/results/environment.hpp"
#include "runners/cuda/dnn/legacy_abi.hpp"
#include "runners/cuda/dnn/recurrent_abi.hpp"
#include "runners/cuda/driver/library_refusal.hpp"

namespace plumb::cuda {

/// Refusal of a call by cuDNN, with its status and its message.
class CudnnRefusal : public LibraryRefusal {
 public:
  CudnnRefusal(int status, const std::string& text) : LibraryRefusal(text), status_(status) {}
  [[nodiscard]] int status() const { return status_; }

 private:
  int status_;
};

/// cuDNN 9, loaded by path and kept until the process ends. A process has one version of it. Needs
/// neither a device nor a driver. Not thread-safe.
class CudnnLibrary {
 public:
  /// Loads the stack's libraries by path, in order. Also loads cuDNN's own parts and cuBLASLt,
  /// which it looks for itself. Throws Error{kEnvironment} if a file is missing, cannot be loaded
  /// or is no cuDNN from 9.8 on. Throws it too if the parts are of several versions or lie in
  /// several folders.
  explicit CudnnLibrary(const std::vector<std::filesystem::path>& libraries);

  /// Describes the library by its version and the build IDs of all its parts and of cuBLASLt. Their
  /// files are facts.
  [[nodiscard]] results::Environment describe() const;

  [[nodiscard]] std::size_t version_number() const { return calls_.version(); }  ///< 91900: 9.19.0

  /// Returns the calls of handles and of the graph interface.
  [[nodiscard]] const abi::CudnnCalls& calls() const { return calls_; }

  /// Returns cuDNN's older calls. Those that this version lacks are null.
  [[nodiscard]] const abi::LegacyCalls& legacy_calls() const { return legacy_calls_; }

  /// Returns cuDNN's calls for recurrent layers. Those that this version lacks are null.
  [[nodiscard]] const abi::RecurrentCalls& recurrent_calls() const { return recurrent_calls_; }

  /// Throws CudnnRefusal unless `status` is a success. `what` names the call.
  void check(int status, const char* what) const;

 private:
  void load_cublas() const;
  void load_parts(const std::filesystem::path& folder);

  abi::CudnnCalls calls_;
  abi::LegacyCalls legacy_calls_;
  abi::RecurrentCalls recurrent_calls_;
  std::string version_;
};

}  // namespace plumb::cuda
