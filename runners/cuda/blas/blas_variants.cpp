// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/blas/blas_variants.hpp"

#include <fmt/format.h>

#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "runners/cuda/blas/gemv_problem.hpp"
#include "runners/cuda/blas/lt_product.hpp"
#include "runners/cuda/blas/product_plan.hpp"
#include "runners/cuda/exec/index_space.hpp"
#include "runners/cuda/observe/tensor_core_use.hpp"

namespace plumb::cuda {
namespace {

/// Returns a number in the 32 bits of the older calls. Throws Unsupported for a larger one.
int small(std::int64_t value) {
  if (value > std::numeric_limits<int>::max()) {
    throw Unsupported(fmt::format("{} exceeds the range of cuBLAS' older calls", value));
  }
  return static_cast<int>(value);
}

abi::LtOperation operation_of(const GemmMatrix& matrix) {
  return matrix.transposed ? abi::LtOperation::kTranspose : abi::LtOperation::kNone;
}

void multiply(const GemmProblem& problem,
              const CublasHandle& handle,
              abi::BlasHandle blas,
              std::span<const abi::DevicePointer> buffers) {
  const auto at = [&](const GemmMatrix& matrix) { return abi::address_of(buffers[matrix.buffer]); };
  const Factor alpha = factor(problem.alpha, problem.d.type);
  const Factor beta = factor(problem.beta, problem.d.type);
  const abi::LtCompute compute = computation_of(problem).first;
  const abi::BlasCalls& calls = *handle.library().older_calls();
  const int status = problem.batch == 1 ? calls.gemm(blas,
                                                     operation_of(problem.a),
                                                     operation_of(problem.b),
                                                     small(problem.m),
                                                     small(problem.n),
                                                     small(problem.k),
                                                     address_of(alpha),
                                                     at(problem.a),
                                                     lt_type(problem.a.type),
                                                     small(problem.a.leading),
                                                     at(problem.b),
                                                     lt_type(problem.b.type),
                                                     small(problem.b.leading),
                                                     address_of(beta),
                                                     at(problem.d),
                                                     lt_type(problem.d.type),
                                                     small(problem.d.leading),
                                                     compute,
                                                     abi::kBlasDefaultAlgorithm)
                                        : calls.batched(blas,
                                                        operation_of(problem.a),
                                                        operation_of(problem.b),
                                                        small(problem.m),
                                                        small(problem.n),
                                                        small(problem.k),
                                                        address_of(alpha),
                                                        at(problem.a),
                                                        lt_type(problem.a.type),
                                                        small(problem.a.leading),
                                                        problem.a.batch_stride,
                                                        at(problem.b),
                                                        lt_type(problem.b.type),
                                                        small(problem.b.leading),
                                                        problem.b.batch_stride,
                                                        address_of(beta),
                                                        at(problem.d),
                                                        lt_type(problem.d.type),
                                                        small(problem.d.leading),
                                                        problem.d.batch_stride,
                                                        small(problem.batch),
                                                        compute,
                                                        abi::kBlasDefaultAlgorithm);
  handle.library().check(status, "a product");
}

/// Multiplies a matrix by a vector in one of the two types.
template <typename Number>
int multiplied(abi::BlasCalls::Gemv<Number> call,
               const GemmProblem& problem,
               const GemvProblem& vectors,
               abi::BlasHandle blas,
               std::span<const abi::DevicePointer> buffers) {
  const auto at = [&](std::size_t buffer) {
    return static_cast<Number*>(abi::address_of(buffers[buffer]));
  };
  const auto alpha = static_cast<Number>(problem.alpha);
  const auto beta = static_cast<Number>(problem.beta);
  return call(blas,
              operation_of(vectors.a),
              small(vectors.a.rows),
              small(vectors.a.columns),
              &alpha,
              at(vectors.a.buffer),
              small(vectors.a.leading),
              at(vectors.x.buffer),
              small(vectors.x.step),
              &beta,
              at(vectors.y.buffer),
              small(vectors.y.step));
}

void multiply_vector(const GemmProblem& problem,
                     const GemvProblem& vectors,
                     const CublasHandle& handle,
                     abi::BlasHandle blas,
                     std::span<const abi::DevicePointer> buffers) {
  const abi::BlasCalls& calls = *handle.library().older_calls();
  handle.library().check(vectors.type == model::DataType::kF64
                             ? multiplied(calls.gemv_f64, problem, vectors, blas, buffers)
                             : multiplied(calls.gemv_f32, problem, vectors, blas, buffers),
                         "a product of matrix and vector");
}

/// Function that puts a product into a stream by one of the calls.
using Multiply = std::function<void(abi::BlasHandle, std::span<const abi::DevicePointer>)>;

VariantBuilder make_builder(const model::LayerSpec& spec,
                            const GemmProblem& problem,
                            const char* call,
                            const CublasHandle& handle,
                            const KernelStep& kernel,
                            const Multiply& multiply_with) {
  VariantBuilder builder;
  builder.text = fmt::format("impl=cublas;call={}{}", call, form_text(problem));
  builder.attributes = tensor_core_attributes({});
  builder.inputs.assign(spec.inputs.size(), TensorLayout::kChannelsFirst);
  builder.outputs.assign(spec.outputs.size(), TensorLayout::kChannelsFirst);
  builder.build = [spec, problem, kernel, multiply_with, &handle] {
    ExecutionPlan plan = begin_product_plan(spec, problem, kernel);
    plan.implementation += "cublas";
    plan.workspace_bytes = kProductWorkspace;
    append_product(
        plan,
        problem,
        [multiply_with, &handle](std::span<const abi::DevicePointer> buffers,
                                 abi::DevicePointer workspace) {
          const std::vector<abi::DevicePointer> own(buffers.begin(), buffers.end());
          return DeviceLaunch([multiply_with, own, workspace, &handle](abi::Stream stream) {
            multiply_with(handle.in(stream, abi::address_of(workspace), kProductWorkspace), own);
          });
        },
        kernel);
    return plan;
  };
  return builder;
}

}  // namespace

std::vector<VariantBuilder> blas_variants(const model::LayerSpec& spec,
                                          const CublasHandle& handle,
                                          const KernelStep& kernel) {
  const GemmProblem problem = plain_gemm_problem(spec);
  for (const std::int64_t count : {problem.m, problem.n, problem.k, problem.batch}) {
    static_cast<void>(small(count));
  }
  std::vector<VariantBuilder> builders;
  builders.push_back(make_builder(spec,
                                  problem,
                                  problem.batch == 1 ? "GemmEx" : "GemmStridedBatchedEx",
                                  handle,
                                  kernel,
                                  [problem, &handle](abi::BlasHandle blas, const auto& buffers) {
                                    multiply(problem, handle, blas, buffers);
                                  }));
  if (const std::optional<GemvProblem> vectors = gemv_problem(problem)) {
    builders.push_back(make_builder(
        spec,
        problem,
        vectors->type == model::DataType::kF64 ? "Dgemv" : "Sgemv",
        handle,
        kernel,
        [problem, vectors = *vectors, &handle](abi::BlasHandle blas, const auto& buffers) {
          multiply_vector(problem, vectors, handle, blas, buffers);
        }));
  }
  return builders;
}

}  // namespace plumb::cuda
