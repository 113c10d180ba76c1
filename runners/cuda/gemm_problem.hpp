// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "harness/model/layer_spec.hpp"

namespace plumb::cuda {

/// Is one matrix of a product, as columns one after the other.
struct GemmMatrix {
  DataType type = DataType::kF32;
  std::size_t operand = 0;  ///< index into the layer's inputs
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
  std::optional<std::size_t> bias;  ///< operand of m numbers, one for each of D's rows
  GemmMatrix d;                     ///< its operand is not used
  double alpha = 1.0;
  double beta = 0.0;
  Activation activation = Activation::kNone;
  bool tf32 = false;
};

/// Translates a `gemm` or `matmul`. Throws Unsupported, saying what cuBLASLt cannot do of it.
[[nodiscard]] GemmProblem gemm_problem(const LayerSpec& spec);

}  // namespace plumb::cuda
