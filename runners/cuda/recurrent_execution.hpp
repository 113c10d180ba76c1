// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "runners/cuda/cudnn_handle.hpp"
#include "runners/cuda/owned_descriptor.hpp"
#include "runners/cuda/recurrent_problem.hpp"

namespace plumb::cuda {

/// The memory that cuDNN needs beside a recurrent layer's operands, in bytes.
struct RecurrentMemory {
  std::size_t weights = 0;
  std::size_t workspace = 0;
};

/// A recurrent layer executed by one of cuDNN's algorithms, with its descriptors. Construction
/// needs no device. The library must outlive it.
class RecurrentExecution {
 public:
  /// Throws Unsupported if this cuDNN lacks a call, CudnnRefusal with its words.
  RecurrentExecution(const CudnnLibrary& library,
                     RecurrentProblem problem,
                     abi::RecurrentAlgorithm algorithm);

  [[nodiscard]] const RecurrentProblem& problem() const { return problem_; }

  /// Asks how much memory the algorithm needs. Throws CudnnRefusal if it is none for the layer.
  [[nodiscard]] RecurrentMemory memory(const CudnnHandle& handle) const;
  /// Finds all pieces of the weights in cuDNN's space, by direction and piece. Throws CudnnRefusal.
  [[nodiscard]] std::vector<std::vector<WeightPlace>> places(const CudnnHandle& handle,
                                                             std::size_t bytes) const;
  /// Compiles what the algorithm runs, if it does that. Throws CudnnRefusal.
  void build(const CudnnHandle& handle) const;
  /// Starts the layer in the stream of the handle on a plan's buffers; `space` is the one of
  /// weights. Throws CudnnRefusal.
  void run(const CudnnHandle& handle,
           std::span<const abi::DevicePointer> buffers,
           std::size_t space,
           const RecurrentMemory& memory,
           void* workspace) const;

 private:
  std::size_t add(abi::RecurrentCalls::Create create, abi::RecurrentCalls::Destroy destroy);
  [[nodiscard]] abi::LegacyDescriptor at(std::size_t index) const {
    return descriptors_[index].get();
  }
  void make_data(std::size_t index, std::int64_t row);
  void make_state(std::size_t index);

  const CudnnLibrary& library_;
  const abi::RecurrentCalls& calls_;
  RecurrentProblem problem_;
  abi::RecurrentAlgorithm algorithm_;
  std::vector<OwnedDescriptor> descriptors_;
  std::size_t dropout_ = 0;
  std::size_t layer_ = 0;
  std::size_t x_ = 0;
  std::size_t y_ = 0;
  std::size_t state_ = 0;
  std::size_t matrix_ = 0;
  std::size_t bias_ = 0;
};

}  // namespace plumb::cuda
