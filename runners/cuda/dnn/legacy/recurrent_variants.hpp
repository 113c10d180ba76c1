// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "runners/cuda/dnn/cudnn_library.hpp"
#include "runners/cuda/dnn/legacy/recurrent_problem.hpp"
#include "runners/cuda/dnn/legacy_abi.hpp"
#include "runners/cuda/driver/driver.hpp"
#include "runners/cuda/exec/execution_plan.hpp"

namespace plumb::cuda {

/// Recurrent layer executed by one of cuDNN's algorithms, with its descriptors. Construction needs
/// no device. The library must outlive it.
class RecurrentExecution {
 public:
  /// Memory that cuDNN needs beside a recurrent layer's operands, in bytes.
  struct Memory {
    std::size_t weights = 0;
    std::size_t workspace = 0;
  };

  /// Makes the descriptors. Throws Unsupported if this cuDNN lacks a call, and
  /// CudnnLibrary::Refusal with its message.
  RecurrentExecution(const CudnnLibrary& library,
                     RecurrentProblem problem,
                     abi::LegacyCalls::Recurrent::Algorithm algorithm);

  [[nodiscard]] const RecurrentProblem& problem() const { return problem_; }

  /// Returns how much memory the algorithm needs. Throws CudnnLibrary::Refusal if it does not apply
  /// to the layer.
  [[nodiscard]] Memory memory(const CudnnLibrary::Handle& handle) const;
  /// Finds where all pieces of the weights lie in cuDNN's space, by direction and piece. Throws
  /// CudnnLibrary::Refusal.
  [[nodiscard]] std::vector<std::vector<RecurrentProblem::WeightPlace>> places(
      const CudnnLibrary::Handle& handle, std::size_t bytes) const;
  /// Compiles the algorithm's kernels, if it has any to compile. Throws CudnnLibrary::Refusal.
  void build(const CudnnLibrary::Handle& handle) const;
  /// Starts the layer on a plan's buffers, in the stream of the handle. `space` is the buffer of
  /// the weights. Throws CudnnLibrary::Refusal.
  void run(const CudnnLibrary::Handle& handle,
           std::span<const abi::DevicePointer> buffers,
           std::size_t space,
           const Memory& memory,
           void* workspace) const;

 private:
  std::size_t add(abi::LegacyCalls::Recurrent::Create create,
                  abi::LegacyCalls::Recurrent::Destroy destroy);
  [[nodiscard]] abi::LegacyDescriptor at(std::size_t index) const {
    return descriptors_[index].get();
  }
  void make_data(std::size_t index, std::int64_t row);
  void make_state(std::size_t index);

  const CudnnLibrary& library_;
  const abi::LegacyCalls::Recurrent& calls_;
  RecurrentProblem problem_;
  abi::LegacyCalls::Recurrent::Algorithm algorithm_;
  std::vector<DynamicLibrary::Owned> descriptors_;
  std::size_t dropout_ = 0;
  std::size_t layer_ = 0;
  std::size_t x_ = 0;
  std::size_t y_ = 0;
  std::size_t state_ = 0;
  std::size_t matrix_ = 0;
  std::size_t bias_ = 0;
};

/// cuDNN's algorithms, with their names in variants.
inline constexpr std::array kRecurrentAlgorithms =
    std::to_array<std::pair<std::string_view, abi::LegacyCalls::Recurrent::Algorithm>>(
        {{"STANDARD", abi::LegacyCalls::Recurrent::Algorithm::kStandard},
         {"PERSIST_STATIC", abi::LegacyCalls::Recurrent::Algorithm::kPersistStatic},
         {"PERSIST_DYNAMIC", abi::LegacyCalls::Recurrent::Algorithm::kPersistDynamic}});

/// Lists cuDNN's variants of an `rnn`, `gru` or `lstm`, the standard algorithm first. There is one
/// for each algorithm that cuDNN takes for the layer. Throws Unsupported with the reason if there
/// is none. The handle must outlive the builders.
[[nodiscard]] std::vector<VariantBuilder> recurrent_variants(const model::LayerSpec& spec,
                                                             CudnnLibrary::Handle& handle,
                                                             const KernelStep& kernel);

}  // namespace plumb::cuda
