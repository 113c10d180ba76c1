// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/model/layer_spec.hpp"
#include "runners/cuda/own/own_layer.hpp"

namespace plumb::cuda {

/// Is a layer to be executed by our kernels on the host.
struct HostLayer {
  LayerSpec spec;
  OwnLayer layer;
  std::vector<Tensor> operands;
};

/// Compiles the text that NVRTC gets by the system's C++ compiler, with threads of the host for
/// those of a block, and executes the layers' launches with operands and results laid out as the
/// layers want them. Returns the outputs of each layer, dense. Throws std::runtime_error with the
/// compiler's words.
[[nodiscard]] std::vector<std::vector<Tensor>> run_on_host(const std::vector<HostLayer>& layers);

/// Writes a dense tensor as `layout` has it, or with `back` the other way round.
[[nodiscard]] std::vector<std::byte> laid_out(const TensorType& type,
                                              const std::vector<std::byte>& bytes,
                                              TensorLayout layout,
                                              bool back);

}  // namespace plumb::cuda
