// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "runners/cuda/blas/gemm_problem.hpp"

namespace plumb::cuda {

/// Strided vector in memory: every `step`-th element.
struct GemvVector {
  std::size_t buffer = 0;
  std::int64_t step = 1;
};

/// Product by a column or row, as cuBLAS' gemv: y := alpha · op(A) · x + beta · y. A value that
/// needs no library.
struct GemvProblem {
  model::DataType type = model::DataType::kF32;
  GemmMatrix a;  ///< as it lies, its `transposed` as gemv is told
  GemvVector x;
  GemvVector y;
};

/// Returns a product in place (plain_gemm_problem()) as that of a matrix by a vector. Absent:
/// neither factor is a vector, the type is not f32 or f64, or there is a batch.
[[nodiscard]] std::optional<GemvProblem> gemv_problem(const GemmProblem& problem);

}  // namespace plumb::cuda
