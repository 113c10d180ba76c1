// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "runners/cuda/own_step.hpp"

namespace plumb::cuda {

/// Is one matrix of a product, as columns one after the other.
struct GemmMatrix {
  DataType type = DataType::kF32;
  std::size_t buffer = 0;  ///< of the plan: the layer's inputs, its result, what is made before
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t leading = 0;  ///< elements from one column to the next
  std::int64_t batch_stride = 0;
  bool transposed = false;  ///< before it takes part
};

/// Is a layer as cuBLASLt's D = activation(alpha · A · B + beta · C + bias), all by columns, which
/// makes our rows their columns: D is the result transposed, A the layer's right operand, B its
/// left. A value that needs no library.
struct GemmProblem {
  enum class Activation { kNone, kRelu, kGeluTanh };
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t batch = 1;
  GemmMatrix a;
  GemmMatrix b;
  std::optional<GemmMatrix> c;      ///< of D's extents
  std::optional<std::size_t> bias;  ///< buffer of m numbers, one for each of D's rows
  GemmMatrix d;
  double alpha = 1.0;
  double beta = 0.0;
  Activation activation = Activation::kNone;
  bool tf32 = false;
  std::vector<TensorType> made;  ///< what steps before write, in buffers behind the result's
  std::vector<OwnStep> before;
  std::vector<OwnStep> behind;
};

/// Translates a `gemm`, `matmul` or `matmul_integer`. What cuBLASLt cannot read or do is brought
/// into a form that it can by kernels of ours before it (operands or C broadcast, integers' right
/// operand on its side), or done behind it. Throws Unsupported, saying what is left.
[[nodiscard]] GemmProblem gemm_problem(const LayerSpec& spec);

/// The same as cuBLAS' older calls have it: C := alpha · A · B + beta · C in place, all that
/// follows by kernels of ours.
[[nodiscard]] GemmProblem plain_gemm_problem(const LayerSpec& spec);

}  // namespace plumb::cuda
