// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "harness/results/engine_choice.hpp"
#include "runners/cuda/dnn/descriptor.hpp"
#include "runners/cuda/dnn/tensor_graph.hpp"

namespace plumb::cuda {

/// Query of what cuDNN would choose on one described device. The library must outlive it.
class EngineQuery {
 public:
  /// Takes the description: a flat JSON object of device properties. Throws Error{kUser} with
  /// cuDNN's message if cuDNN does not take it.
  EngineQuery(const CudnnLibrary& library, std::string device);

  [[nodiscard]] const std::string& device() const { return device_; }

  /// Lists what cuDNN's heuristics choose for a layer in each layout, best first, with digests of
  /// their plans. What cuDNN refuses is part of the answer, with its message.
  [[nodiscard]] EngineChoices choices(const LayerKey& key) const;

 private:
  [[nodiscard]] EngineOffer offer(const LayerSpec& spec, const TensorGraph& graph) const;
  [[nodiscard]] EngineRanking ranking(const Descriptor& operations,
                                      const char* name,
                                      abi::HeuristicMode mode) const;
  [[nodiscard]] EngineConfiguration configuration(const Descriptor& descriptor) const;

  const CudnnLibrary& library_;
  std::string device_;
  Descriptor properties_;
};

}  // namespace plumb::cuda
