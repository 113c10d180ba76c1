// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "runners/cuda/blas/cublas_library.hpp"
#include "runners/cuda/dnn/cudnn_library.hpp"
#include "runners/cuda/exec/execution_plan.hpp"
#include "runners/cuda/exec/kernel_library.hpp"

namespace plumb::cuda {

/// Libraries and kernels that execute layers. All must outlive the variant builders.
struct BuilderSources {
  CudnnHandle& cudnn;
  const CublasHandle* products = nullptr;  ///< null: there is no cuBLASLt
  std::string no_products;                 ///< why not
  KernelLibrary& kernels;
};

/// Returns the function that makes the steps of built-in kernels. `kernels` must outlive it.
[[nodiscard]] KernelStep kernel_step(KernelLibrary& kernels);

/// Lists the variants of a layer, the first choice first. The variants of the library made for the
/// layer stand first, then built-in kernels, then the older calls of cuBLAS and cuDNN. Throws
/// Unsupported with the reason if there is none.
[[nodiscard]] std::vector<VariantBuilder> layer_variants(const model::LayerSpec& spec,
                                                         const BuilderSources& sources);

}  // namespace plumb::cuda
