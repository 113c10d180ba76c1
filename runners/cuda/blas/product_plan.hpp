// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <variant>

#include "runners/cuda/blas/gemm_problem.hpp"
#include "runners/cuda/exec/variant_builder.hpp"

namespace plumb::cuda {

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

}  // namespace plumb::cuda
