// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/blas/gemv_problem.hpp"

namespace plumb::cuda {

std::optional<GemvProblem> gemv_problem(const GemmProblem& problem) {
  const model::DataType type = problem.d.type;
  if (problem.batch != 1 || (problem.m != 1 && problem.n != 1) ||
      (type != model::DataType::kF32 && type != model::DataType::kF64) || problem.a.type != type ||
      problem.b.type != type) {
    return std::nullopt;
  }
  GemvProblem result;
  result.type = type;
  if (problem.n == 1) {  // D is a column: op(A) by op(B)'s column
    result.a = problem.a;
    result.x = {problem.b.buffer, problem.b.transposed ? problem.b.leading : 1};
    result.y = {problem.d.buffer, 1};
  } else {  // D is a row: transposed, op(B) transposed by op(A)'s row
    result.a = problem.b;
    result.a.transposed = !problem.b.transposed;
    result.x = {problem.a.buffer, problem.a.transposed ? 1 : problem.a.leading};
    result.y = {problem.d.buffer, problem.d.leading};
  }
  return result;
}

}  // namespace plumb::cuda
