// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "harness/model/key/layer_spec.hpp"
#include "harness/results/engine_choice.hpp"
#include "runners/cuda/dnn/cudnn_library.hpp"
#include "runners/cuda/dnn/engine_search.hpp"
#include "runners/cuda/dnn/operation_graph.hpp"

namespace plumb::cuda {

/// Translates the product of a `gemm` or `matmul` into cuDNN's: batch × rows × columns. Bias, C and
/// fused steps are left out. Throws Unsupported for vectors, for batches that broadcast in part,
/// and for types that cuDNN has no name of.
[[nodiscard]] TensorGraph product_graph(const model::LayerSpec& spec);

/// Query of what cuDNN chooses on one device, described or present. The library must outlive it.
class EngineQuery {
 public:
  /// How much of a ranking is asked for. Each plan takes up to a second where a kernel is compiled.
  enum class Depth { kWhole, kToFirstChoice };

  /// Takes the description: a flat JSON object of device properties. Throws Error{kUser} with
  /// cuDNN's message if cuDNN does not take it.
  EngineQuery(const CudnnLibrary& library, std::string device);
  /// Takes the device of a handle, which must outlive the query.
  explicit EngineQuery(const CudnnLibrary::Handle& handle);

  /// Returns the description. Empty: the device is a handle's.
  [[nodiscard]] const std::string& device() const { return device_; }

  /// Lists what cuDNN's heuristics choose for a layer in each layout, best first, with digests of
  /// their plans. What cuDNN refuses is part of the answer, with its message. Where cuDNN compiles
  /// its engines, the list ends with the first choice.
  [[nodiscard]] results::EngineChoices choices(const model::LayerKey& key,
                                               Depth depth = Depth::kWhole) const;

 private:
  [[nodiscard]] results::EngineChoices::Offer offer(const model::LayerSpec& spec,
                                                    const TensorGraph& graph,
                                                    Depth depth) const;
  /// Ends behind the first choice for `spec`, unless that is null.
  [[nodiscard]] results::EngineChoices::Ranking ranking(const Descriptor& operations,
                                                        const char* name,
                                                        abi::CudnnCalls::HeuristicMode mode,
                                                        const model::LayerSpec* spec) const;
  [[nodiscard]] results::EngineChoices::Configuration configuration(
      const Descriptor& descriptor) const;

  [[nodiscard]] EngineTarget target() const;

  const CudnnLibrary& library_;
  std::string device_;
  std::optional<Descriptor> properties_;
  abi::DnnHandle handle_ = nullptr;
};

}  // namespace plumb::cuda
