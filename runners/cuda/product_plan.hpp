// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <variant>

#include "runners/cuda/device_offer.hpp"
#include "runners/cuda/gemm_problem.hpp"

namespace plumb::cuda {

/// What cuBLAS recommends from Hopper on. Its choice depends on it, so it is the same everywhere.
inline constexpr std::size_t kProductWorkspace = std::size_t{32} << 20;

/// The factor alpha or beta, in the type in which a product is scaled.
using Factor = std::variant<float, double, std::int32_t>;
[[nodiscard]] Factor factor(double value, DataType type);
[[nodiscard]] const void* address_of(const Factor& factor);

/// Begins a product's plan: its buffers, with those of what is made before, and the steps that make
/// it. Throws Unsupported.
[[nodiscard]] DevicePlan begin_product_plan(const LayerSpec& spec,
                                            const GemmProblem& problem,
                                            const KernelStep& kernel);

/// Appends a product's own step, and what kernels of ours do behind it.
void append_product(
    DevicePlan& plan,
    const GemmProblem& problem,
    std::function<DeviceLaunch(std::span<const abi::DevicePointer>, abi::DevicePointer)> bind,
    const KernelStep& kernel);

/// Writes what of a variant tells one form of a product from another: how it adds up, and that
/// kernels of ours take part.
[[nodiscard]] std::string form_text(const GemmProblem& problem);

}  // namespace plumb::cuda
