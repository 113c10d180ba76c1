// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "runners/cuda/blas/cublas_library.hpp"
#include "runners/cuda/blas/lt_product.hpp"
#include "runners/cuda/exec/execution_plan.hpp"

namespace plumb::cuda {

/// Lists the variants of a product by cuBLAS' older calls, with cuBLAS' own choice of an algorithm.
/// The call is cublasGemmEx or cublasGemmStridedBatchedEx. A product by one row or column in f32 or
/// f64 also has gemv. Throws Unsupported. The handle has the older calls, and must outlive the
/// builders.
[[nodiscard]] std::vector<VariantBuilder> blas_variants(const model::LayerSpec& spec,
                                                        const CublasHandle& handle,
                                                        const KernelStep& kernel);

/// Lists the algorithms that cuBLASLt's heuristic gives for a product, best first. All keep the
/// layer's promise of precision. Throws Unsupported if there is none. The handle must outlive the
/// builders. `kernel` makes the steps of built-in kernels before and after the product
/// (GemmProblem).
[[nodiscard]] std::vector<VariantBuilder> gemm_variants(const model::LayerSpec& spec,
                                                        const CublasHandle& handle,
                                                        const KernelStep& kernel);

}  // namespace plumb::cuda
