// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "runners/cuda/dnn/cudnn_library.hpp"
#include "runners/cuda/dnn/legacy/legacy_problem.hpp"
#include "runners/cuda/exec/execution_plan.hpp"

namespace plumb::cuda {

/// Translates a layer into the forms that cuDNN's older calls take. Throws Unsupported with the
/// reason if there is none.
[[nodiscard]] std::vector<LegacyProblem> legacy_problems(const model::LayerSpec& spec);

/// Lists the variants of a layer by cuDNN's older calls, of which each kind of layer has one. They
/// are what Benanza (Li et al. 2020, §III-B) measured, and the gradients. A convolution has every
/// algorithm that cuDNN has for the layer. Empty where there is none. The handle must outlive the
/// builders.
[[nodiscard]] std::vector<VariantBuilder> legacy_variants(const model::LayerSpec& spec,
                                                          CudnnHandle& handle,
                                                          const KernelStep& kernel);

}  // namespace plumb::cuda
