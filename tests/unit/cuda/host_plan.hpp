// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runners/cuda/model_program.hpp"
#include "tests/unit/cuda/host_kernels.hpp"

namespace plumb::cuda {

/// Offers what a library would do, by the reference, with operands and result in a layout.
[[nodiscard]] VariantBuilder library_builder(const model::LayerSpec& spec,
                                             TensorLayout layout,
                                             const std::string& text);

/// Lists what the host has for a layer, as layer_variants() does for a GPU: convolutions and
/// products by the reference in the libraries' place, all else by our kernels.
[[nodiscard]] std::vector<VariantBuilder> host_builders(const model::LayerSpec& spec,
                                                        HostKernels& kernels);

/// Runs a plan in the host's memory: kernels must be compiled. `operand` finds what an input buffer
/// holds. Returns the outputs in the types given, dense.
[[nodiscard]] std::vector<model::Tensor> run_plan(
    const ExecutionPlan& plan,
    const std::vector<model::TensorType>& outputs,
    const std::function<const model::Tensor&(std::size_t operand)>& operand);

}  // namespace plumb::cuda
