// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/model/key/tensor.hpp"
#include "harness/results/run.hpp"
#include "runners/cuda/dnn/cudnn_abi.hpp"
#include "runners/cuda/dnn/legacy_abi.hpp"
#include "runners/cuda/driver/driver.hpp"
#include "runners/cuda/driver/driver_abi.hpp"

namespace plumb::cuda {

/// cuDNN 9, loaded by path and kept until the process ends. A process has one version of it. Needs
/// neither a device nor a driver. Not thread-safe.
class CudnnLibrary {
 public:
  /// Owner of cuDNN's handle of the current context. The library must outlive it.
  class Handle {
   public:
    /// Creates the handle. Throws CudnnLibrary::Refusal.
    explicit Handle(const CudnnLibrary& library);

    [[nodiscard]] abi::DnnHandle get() const { return handle_.get(); }
    [[nodiscard]] const CudnnLibrary& library() const { return library_; }

    /// Makes calls with the handle go into a stream. Throws CudnnLibrary::Refusal.
    void use(abi::Stream stream);
    /// Executes a plan on the operands of a pack in a stream. Throws CudnnLibrary::Refusal.
    void execute(abi::Descriptor plan, abi::Descriptor pack, abi::Stream stream);

   private:
    const CudnnLibrary& library_;
    DynamicLibrary::Owned handle_;
    abi::Stream stream_ = nullptr;  // that the handle was last given
  };

  /// Refusal of a call by cuDNN, with its status and its message.
  class Refusal : public DynamicLibrary::Refusal {
   public:
    Refusal(int status, const std::string& text) : DynamicLibrary::Refusal(text), status_(status) {}
    [[nodiscard]] int status() const { return status_; }

   private:
    int status_;
  };

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
  [[nodiscard]] const abi::LegacyCalls::Recurrent& recurrent_calls() const {
    return recurrent_calls_;
  }

  /// Throws Refusal unless `status` is a success. `what` names the call.
  void check(int status, const char* what) const;

 private:
  void load_cublas() const;
  void load_parts(const std::filesystem::path& folder);

  abi::CudnnCalls calls_;
  abi::LegacyCalls legacy_calls_;
  abi::LegacyCalls::Recurrent recurrent_calls_;
  std::string version_;
};

/// Returns cuDNN's enumerator of an element type. Throws Unsupported for all but f32, f16 and bf16.
[[nodiscard]] abi::CudnnCalls::Type cudnn_type(model::DataType type);

}  // namespace plumb::cuda
