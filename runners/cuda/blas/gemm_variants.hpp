// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "runners/cuda/blas/lt_product.hpp"
#include "runners/cuda/exec/variant_builder.hpp"

namespace plumb::cuda {

/// Lists the algorithms that cuBLASLt's heuristic gives for a product, best first. All keep the
/// layer's promise of precision. Throws Unsupported if there is none. The handle must outlive the
/// builders. `kernel` makes the steps of built-in kernels before and after the product
/// (GemmProblem).
[[nodiscard]] std::vector<VariantBuilder> gemm_variants(const model::LayerSpec& spec,
                                                        const CublasHandle& handle,
                                                        const KernelStep& kernel);

}  // namespace plumb::cuda
