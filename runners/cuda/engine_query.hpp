// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "harness/results/engine_choice.hpp"
#include "runners/cuda/descriptor.hpp"
#include "runners/cuda/tensor_graph.hpp"

namespace plumb::cuda {

/// Asks cuDNN what it would choose on one described device. The library must outlive it.
class EngineQuery {
 public:
  /// Throws Error{kUser} with cuDNN's words if it does not take the description: a flat JSON object
  /// of device properties.
  EngineQuery(const CudnnLibrary& library, std::string device);

  [[nodiscard]] const std::string& device() const { return device_; }

  /// Lists what cuDNN's heuristics offer for a layer in each layout, best first, with their plans.
  /// What it refuses stands in the answer in its words.
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
