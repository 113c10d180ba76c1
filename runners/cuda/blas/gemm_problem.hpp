// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "runners/cuda/builtin/builtin_layer.hpp"

namespace plumb::cuda {

/// Layer as cuBLASLt's column-major D = activation(alpha · A · B + beta · C + bias). The layer's
/// rows are cuBLASLt's columns: D is the result transposed, A the layer's right operand, B its
/// left. A value that needs no library.
struct GemmProblem {
  /// Column-major matrix of a product.
  struct Matrix {
    model::DataType type = model::DataType::kF32;
    std::size_t buffer = 0;  ///< of the plan: the layer's inputs, its result, what is made before
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    std::int64_t leading = 0;  ///< elements from one column to the next
    std::int64_t batch_stride = 0;
    bool transposed = false;  ///< before it is multiplied
  };

  /// Product by a column or row, as cuBLAS' gemv: y := alpha · op(A) · x + beta · y. A value that
  /// needs no library.
  struct Gemv {
    /// Strided vector in memory: every `step`-th element.
    struct Vector {
      std::size_t buffer = 0;
      std::int64_t step = 1;
    };

    model::DataType type = model::DataType::kF32;
    Matrix a;  ///< as it lies, its `transposed` as gemv is told
    Vector x;
    Vector y;
  };

  enum class Activation { kNone, kRelu, kGeluTanh, kReluGradient, kGeluTanhGradient };
  /// Operand that a bias gradient sums: a factor along k, or D's columns.
  enum class Summed { kA, kB, kD };
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t batch = 1;
  Matrix a;
  Matrix b;
  std::optional<Matrix> c;          ///< of D's extents
  std::optional<std::size_t> bias;  ///< buffer of m numbers, one for each of D's rows
  Matrix d;
  /// Operand at which an activation's gradient is taken, laid out as D. Of ReLU's gradient it is
  /// one bit an element, set where the operand was positive, with `leading` bits a column.
  std::optional<Matrix> saved;
  std::optional<std::size_t> bias_gradient;  ///< buffer of as many numbers as `summed` leaves
  Summed summed = Summed::kD;
  double alpha = 1.0;
  double beta = 0.0;
  Activation activation = Activation::kNone;
  bool tf32 = false;
  bool fast_accumulation = false;       ///< of 8-bit floats: sums keep the tensor cores' precision
  std::vector<model::TensorType> made;  ///< what earlier steps write, in buffers after the result's
  std::vector<BuiltinLayer::Step> before;
  std::vector<BuiltinLayer::Step> behind;
};

/// Translates a `gemm`, `matmul`, `matmul_integer` or `gemm_bias_gradient`. Built-in kernels before
/// the product make what cuBLASLt can read: operands or C that are broadcast, and integers and
/// 8-bit floats transposed. Built-in kernels after it do what cuBLASLt cannot do. Throws
/// Unsupported with what is left.
[[nodiscard]] GemmProblem gemm_problem(const model::LayerSpec& spec);

/// Translates as gemm_problem() does, with gradients of activations and biases by built-in kernels
/// after the product. Throws Unsupported where a mask of bits makes that impossible.
[[nodiscard]] GemmProblem gemm_problem_with_gradients_apart(const model::LayerSpec& spec);

/// Lists the forms of a product for cuBLASLt, the first choice first. The first is gemm_problem().
/// Where it fuses gradients, or anything after a product of 8-bit floats, a form with these apart
/// follows. Products of 8-bit floats at math=downconvert have all forms again, with fast
/// accumulation. Throws Unsupported.
[[nodiscard]] std::vector<GemmProblem> gemm_forms(const model::LayerSpec& spec);

/// Returns whether a layer is a product of 8-bit floats.
[[nodiscard]] bool multiplies_f8(const model::LayerSpec& spec);

/// Throws Unsupported if a GPU of this compute capability lacks what the product needs.
/// `architecture` is ten times the capability: 89 is 8.9.
void check_capability(const model::LayerSpec& spec, int architecture);

/// Translates a product for cuBLAS' older calls: C := alpha · A · B + beta · C in place. Built-in
/// kernels do all that follows. Throws Unsupported.
[[nodiscard]] GemmProblem plain_gemm_problem(const model::LayerSpec& spec);

/// Returns a product in place (plain_gemm_problem()) as that of a matrix by a vector. Absent:
/// neither factor is a vector, the type is not f32 or f64, or there is a batch.
[[nodiscard]] std::optional<GemmProblem::Gemv> gemv_problem(const GemmProblem& problem);

}  // namespace plumb::cuda
