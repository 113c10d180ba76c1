// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "runners/cuda/own_step.hpp"

namespace plumb::cuda {

/// Column-major matrix of a product.
struct GemmMatrix {
  DataType type = DataType::kF32;
  std::size_t buffer = 0;  ///< of the plan: the layer's inputs, its result, what is made before
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t leading = 0;  ///< elements from one column to the next
  std::int64_t batch_stride = 0;
  bool transposed = false;  ///< before it takes part
};

/// Layer as cuBLASLt's column-major D = activation(alpha · A · B + beta · C + bias). The layer's
/// rows are cuBLASLt's columns: D is the result transposed, A the layer's right operand, B its
/// left. A value that needs no library.
struct GemmProblem {
  enum class Activation { kNone, kRelu, kGeluTanh, kReluGradient, kGeluTanhGradient };
  /// Operand that a bias gradient sums: a factor along k, or D's columns.
  enum class Summed { kA, kB, kD };
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t batch = 1;
  GemmMatrix a;
  GemmMatrix b;
  std::optional<GemmMatrix> c;      ///< of D's extents
  std::optional<std::size_t> bias;  ///< buffer of m numbers, one for each of D's rows
  GemmMatrix d;
  /// Of an activation's gradient: what the activation was taken of, as D lies; of ReLU's: a bit an
  /// element, set where it was positive, `leading` of them a column.
  std::optional<GemmMatrix> saved;
  std::optional<std::size_t> bias_gradient;  ///< buffer of as many numbers as `summed` leaves
  Summed summed = Summed::kD;
  double alpha = 1.0;
  double beta = 0.0;
  Activation activation = Activation::kNone;
  bool tf32 = false;
  bool fast_accumulation = false;  ///< of 8-bit floats: sums stay in the tensor cores' own digits
  std::vector<TensorType> made;    ///< what steps before write, in buffers behind the result's
  std::vector<OwnStep> before;
  std::vector<OwnStep> behind;
};

/// Translates a `gemm`, `matmul`, `matmul_integer` or `gemm_bias_gradient`. What cuBLASLt cannot
/// read or do is brought into a form that it can by kernels of ours before it (operands or C
/// broadcast, integers and 8-bit floats on their side), or done behind it. Throws Unsupported,
/// saying what is left.
[[nodiscard]] GemmProblem gemm_problem(const LayerSpec& spec);

/// The same with gradients of activations and biases by kernels of ours behind the product. Throws
/// Unsupported where a mask of bits makes that impossible.
[[nodiscard]] GemmProblem gemm_problem_with_gradients_apart(const LayerSpec& spec);

/// Lists the forms that cuBLASLt is asked for, the first choice first: gemm_problem(); beside fused
/// gradients, and beside what is fused behind products of 8-bit floats, the same apart; then, of
/// 8-bit floats at math=downconvert, all again with fast accumulation. Throws Unsupported.
[[nodiscard]] std::vector<GemmProblem> gemm_forms(const LayerSpec& spec);

/// Returns whether a layer is a product of 8-bit floats.
[[nodiscard]] bool multiplies_f8(const LayerSpec& spec);

/// Throws Unsupported if no GPU of this compute capability, ten times (89 is 8.9), has what the
/// product needs.
void check_capability(const LayerSpec& spec, int architecture);

/// The same as cuBLAS' older calls have it: C := alpha · A · B + beta · C in place, all that
/// follows by kernels of ours.
[[nodiscard]] GemmProblem plain_gemm_problem(const LayerSpec& spec);

}  // namespace plumb::cuda
