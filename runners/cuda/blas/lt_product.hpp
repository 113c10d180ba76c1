// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "runners/cuda/blas/cublas_library.hpp"
#include "runners/cuda/blas/gemm_problem.hpp"
#include "runners/cuda/driver/cublas_abi.hpp"
#include "runners/cuda/driver/dynamic_library.hpp"
#include "runners/cuda/exec/execution_plan.hpp"

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

/// Workspace in bytes that cuBLAS recommends from Hopper on. cuBLAS' choice depends on it, so it is
/// the same everywhere.
inline constexpr std::size_t kProductWorkspace = std::size_t{32} << 20;

/// Factor alpha or beta, in the type in which a product is scaled.
using Factor = std::variant<float, double, std::int32_t>;
[[nodiscard]] Factor factor(double value, model::DataType type);
[[nodiscard]] const void* address_of(const Factor& factor);

/// Begins a product's plan with its buffers, and with the steps that make operands before it.
/// Throws Unsupported.
[[nodiscard]] ExecutionPlan begin_product_plan(const model::LayerSpec& spec,
                                               const GemmProblem& problem,
                                               const KernelStep& kernel);

/// Appends a product's own step, and the built-in kernels after it.
void append_product(
    ExecutionPlan& plan,
    const GemmProblem& problem,
    std::function<DeviceLaunch(std::span<const abi::DevicePointer>, abi::DevicePointer)> bind,
    const KernelStep& kernel);

/// Returns the part of a variant's name that tells one form of a product from another. It says how
/// the product adds up, and that built-in kernels take part.
[[nodiscard]] std::string form_text(const GemmProblem& problem);

/// Name of the row's attribute that holds cuBLASLt's algorithm. Its value means the same only in
/// the version that wrote it.
inline constexpr const char* kAlgorithmAttribute = "algorithm";

/// Returns an algorithm as hexadecimal digits, sixteen for each word.
[[nodiscard]] std::string algorithm_text(const abi::LtAlgorithm& algorithm);

/// Reads what algorithm_text() wrote. Throws Error{kUser} for anything else.
[[nodiscard]] abi::LtAlgorithm parse_algorithm(const std::string& text);

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
