// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "runners/cuda/driver/cublas_abi.hpp"

/// Part of cuBLAS' older interface that the worker uses beside cuBLASLt: the calls that Benanza
/// measured.
namespace plumb::cuda::abi {

using BlasHandle = void*;
inline constexpr int kBlasDefaultAlgorithm = -1;  // of cublasGemmAlgo_t

/// Entry points of cuBLAS' older interface, found by name by CublasLibrary.
struct BlasCalls {
  int (*create)(BlasHandle*) = nullptr;
  int (*destroy)(BlasHandle) = nullptr;
  int (*set_stream)(BlasHandle, Stream) = nullptr;
  int (*set_workspace)(BlasHandle, void*, std::size_t) = nullptr;
  int (*gemm)(BlasHandle,
              LtOperation,
              LtOperation,
              int,
              int,
              int,
              const void*,
              const void*,
              LtType,
              int,
              const void*,
              LtType,
              int,
              const void*,
              void*,
              LtType,
              int,
              LtCompute,
              int) = nullptr;
  int (*batched)(BlasHandle,
                 LtOperation,
                 LtOperation,
                 int,
                 int,
                 int,
                 const void*,
                 const void*,
                 LtType,
                 int,
                 long long,
                 const void*,
                 LtType,
                 int,
                 long long,
                 const void*,
                 void*,
                 LtType,
                 int,
                 long long,
                 int,
                 LtCompute,
                 int) = nullptr;
  /// Call of a product of a matrix and a vector. `Number` is float or double.
  template <typename Number>
  using Gemv = int (*)(BlasHandle,
                       LtOperation,
                       int,
                       int,
                       const Number*,
                       const Number*,
                       int,
                       const Number*,
                       int,
                       const Number*,
                       Number*,
                       int);
  Gemv<float> gemv_f32 = nullptr;
  Gemv<double> gemv_f64 = nullptr;
};

/// Calls `visit(member, "cublasName")` for every entry point.
template <typename Calls, typename Visit>
constexpr void for_each_blas_call(Calls& calls, Visit visit) {
  visit(calls.create, "cublasCreate_v2");
  visit(calls.destroy, "cublasDestroy_v2");
  visit(calls.set_stream, "cublasSetStream_v2");
  visit(calls.set_workspace, "cublasSetWorkspace_v2");
  visit(calls.gemm, "cublasGemmEx");
  visit(calls.batched, "cublasGemmStridedBatchedEx");
  visit(calls.gemv_f32, "cublasSgemv_v2");
  visit(calls.gemv_f64, "cublasDgemv_v2");
}

}  // namespace plumb::cuda::abi
