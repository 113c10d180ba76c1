// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/blas_offers.hpp"

#include <fmt/format.h>

#include <limits>

#include "runners/cuda/index_space.hpp"
#include "runners/cuda/lt_product.hpp"
#include "runners/cuda/product_plan.hpp"
#include "runners/cuda/tensor_core_use.hpp"

namespace plumb::cuda {
namespace {

/// The older calls count in 32 bits.
int small(std::int64_t value) {
  if (value > std::numeric_limits<int>::max()) {
    throw Unsupported(fmt::format("{} is beyond what cuBLAS' older calls count", value));
  }
  return static_cast<int>(value);
}

abi::LtOperation operation_of(const GemmMatrix& matrix) {
  return matrix.transposed ? abi::LtOperation::kTranspose : abi::LtOperation::kNone;
}

void multiply(const GemmProblem& problem,
              const BlasHandle& handle,
              abi::BlasHandle blas,
              std::span<const abi::DevicePointer> buffers) {
  const auto at = [&](const GemmMatrix& matrix) { return abi::address_of(buffers[matrix.buffer]); };
  const Factor alpha = factor(problem.alpha, problem.d.type);
  const Factor beta = factor(problem.beta, problem.d.type);
  const abi::LtCompute compute = computation_of(problem).first;
  const abi::BlasCalls& calls = handle.library().calls();
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

}  // namespace

std::vector<DeviceOffer> blas_offers(const LayerSpec& spec,
                                     const BlasHandle& handle,
                                     const KernelStep& kernel) {
  const GemmProblem problem = plain_gemm_problem(spec);
  for (const std::int64_t count : {problem.m, problem.n, problem.k, problem.batch}) {
    static_cast<void>(small(count));
  }
  DeviceOffer offer;
  offer.text = fmt::format("impl=cublas;call={}{}",
                           problem.batch == 1 ? "GemmEx" : "GemmStridedBatchedEx",
                           own_part_text(problem));
  offer.attributes = tensor_core_attributes({});
  offer.inputs.assign(spec.inputs.size(), TensorLayout::kChannelsFirst);
  offer.outputs.assign(spec.outputs.size(), TensorLayout::kChannelsFirst);
  offer.build = [spec, problem, kernel, &handle] {
    DevicePlan plan = begin_product_plan(spec, problem, kernel);
    plan.implementation += "cublas";
    plan.workspace_bytes = kProductWorkspace;
    append_product(
        plan,
        problem,
        [problem, &handle](std::span<const abi::DevicePointer> buffers,
                           abi::DevicePointer workspace) {
          const std::vector<abi::DevicePointer> own(buffers.begin(), buffers.end());
          return DeviceLaunch([problem, own, workspace, &handle](abi::Stream stream) {
            multiply(problem,
                     handle,
                     handle.in(stream, abi::address_of(workspace), kProductWorkspace),
                     own);
          });
        },
        kernel);
    return plan;
  };
  return {std::move(offer)};
}

}  // namespace plumb::cuda
