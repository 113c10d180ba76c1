// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/model/tensor.hpp"
#include "runners/cuda/kernels/shapes.hpp"
#include "runners/cuda/tensor_layout.hpp"

namespace plumb::cuda {

/// Error for a layer that cannot be executed here, with the reason. Becomes an Outcome at the
/// backend's border and never leaves the backend.
class Unsupported : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Makes an index space with the axes as they are; `strides` of each operand, the output's first.
/// Throws Unsupported for too many axes or operands.
[[nodiscard]] kernels::Space plain_space(const Dimensions& extents,
                                         const std::vector<Dimensions>& strides);

/// The same with axes in the order in which the output lies, and axes joined that all operands
/// step through as if they were one: fewer divisions, and neighbours written by neighbours.
[[nodiscard]] kernels::Space joined_space(const Dimensions& extents,
                                          const std::vector<Dimensions>& strides);

/// Returns an operand's strides along a result's axes: 0 where it is broadcast (as numpy does).
/// Throws Unsupported if it does not fit.
[[nodiscard]] Dimensions broadcast_strides(const Dimensions& operand,
                                           const Dimensions& operand_strides,
                                           const Dimensions& result);

/// Names an element type in the kernels' language: "float", "Half", "long long". Throws
/// Unsupported.
[[nodiscard]] std::string element_name(DataType type);
/// Names the type that is computed in: "float", "double" or "Index". Throws Unsupported.
[[nodiscard]] std::string compute_name(DataType type);
/// Names a type of as many bytes, for kernels that only move elements. Throws Unsupported.
[[nodiscard]] std::string moved_name(DataType type);

}  // namespace plumb::cuda
