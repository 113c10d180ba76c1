// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>

#include "runners/cuda/blas/cublas_library.hpp"
#include "runners/cuda/blas/gemm_problem.hpp"
#include "runners/cuda/driver/owned_descriptor.hpp"

namespace plumb::cuda {

/// Returns the type as cuBLAS names it.
[[nodiscard]] abi::LtType lt_type(model::DataType type);
/// Returns the types in which a product is computed and scaled.
[[nodiscard]] std::pair<abi::LtCompute, abi::LtType> computation_of(const GemmProblem& problem);

/// Returns the operation that cuBLASLt itself does after a product.
[[nodiscard]] abi::LtEpilogue epilogue_of(const GemmProblem& problem);

/// Descriptors of a product for cuBLASLt. The library must outlive it.
struct LtProduct {
  OwnedDescriptor product;
  OwnedDescriptor a;
  OwnedDescriptor b;
  OwnedDescriptor c;
  OwnedDescriptor d;
};

/// Makes cuBLASLt's descriptors of a product. Needs no device. Throws CublasRefusal.
[[nodiscard]] LtProduct lt_product(const CublasLibrary& library, const GemmProblem& problem);

/// Sets one attribute of a product's descriptor. Throws CublasRefusal.
void set_attribute(const CublasLibrary& library,
                   abi::LtDescriptor product,
                   abi::LtProductAttribute name,
                   const void* value,
                   std::size_t size);

}  // namespace plumb::cuda
