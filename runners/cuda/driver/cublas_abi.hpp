// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "runners/cuda/driver/driver_abi.hpp"

/// Part of cuBLASLt's binary interface that the worker uses, as its documentation names it. It is
/// the same in cuBLAS 12 and 13 (docs/adr/0007). Behind it stands cuBLAS' older interface.

namespace plumb::cuda::abi {

using LtHandle = void*;
using LtDescriptor = void*;  ///< of an operation, a matrix or a preference

inline constexpr int kLtSuccess = 0;
inline constexpr int kLtAllocFailed = 3;
inline constexpr int kLtNumericalFlags = 15;  // CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS
// Its bits: how it multiplies, what it accumulates in and which types it reads.
inline constexpr std::uint64_t kLtFma = 0x1;
inline constexpr std::uint64_t kLtHmma = 0x2;
inline constexpr std::uint64_t kLtImma = 0x4;
inline constexpr std::uint64_t kLtDmma = 0x8;
inline constexpr std::uint64_t kLtTensorOperations = 0xfe;
inline constexpr std::uint64_t kLtAccumulatorF16 = std::uint64_t{1} << 8;
inline constexpr std::uint64_t kLtAccumulatorF32 = std::uint64_t{2} << 8;
inline constexpr std::uint64_t kLtAccumulatorF64 = std::uint64_t{4} << 8;
inline constexpr std::uint64_t kLtAccumulatorS32 = std::uint64_t{8} << 8;
inline constexpr std::uint64_t kLtInputF16 = std::uint64_t{1} << 16;
inline constexpr std::uint64_t kLtInputBf16 = std::uint64_t{2} << 16;
inline constexpr std::uint64_t kLtInputTf32 = std::uint64_t{4} << 16;
inline constexpr std::uint64_t kLtInputF32 = std::uint64_t{8} << 16;
inline constexpr std::uint64_t kLtInputF64 = std::uint64_t{0x10} << 16;
inline constexpr std::uint64_t kLtInputS8 = std::uint64_t{0x20} << 16;
inline constexpr std::uint64_t kLtInputF8E4M3 = std::uint64_t{0x40} << 16;
inline constexpr std::uint64_t kLtInputF8E5M2 = std::uint64_t{0x80} << 16;
inline constexpr std::uint64_t kLtGaussian = std::uint64_t{1} << 32;

/// Calls `visit(member, "cublasLtName")` for every entry point.
template <typename Calls, typename Visit>
constexpr void for_each_lt_call(Calls& calls, Visit visit) {
  visit(calls.version, "cublasLtGetVersion");
  visit(calls.status_name, "cublasLtGetStatusName");
  visit(calls.create, "cublasLtCreate");
  visit(calls.destroy, "cublasLtDestroy");
  visit(calls.product_create, "cublasLtMatmulDescCreate");
  visit(calls.product_destroy, "cublasLtMatmulDescDestroy");
  visit(calls.product_set, "cublasLtMatmulDescSetAttribute");
  visit(calls.matrix_create, "cublasLtMatrixLayoutCreate");
  visit(calls.matrix_destroy, "cublasLtMatrixLayoutDestroy");
  visit(calls.matrix_set, "cublasLtMatrixLayoutSetAttribute");
  visit(calls.preference_create, "cublasLtMatmulPreferenceCreate");
  visit(calls.preference_destroy, "cublasLtMatmulPreferenceDestroy");
  visit(calls.preference_set, "cublasLtMatmulPreferenceSetAttribute");
  visit(calls.heuristic, "cublasLtMatmulAlgoGetHeuristic");
  visit(calls.setting, "cublasLtMatmulAlgoConfigGetAttribute");
  visit(calls.capability, "cublasLtMatmulAlgoCapGetAttribute");
  visit(calls.product, "cublasLtMatmul");
}

using BlasHandle = void*;
inline constexpr int kBlasDefaultAlgorithm = -1;  // of cublasGemmAlgo_t

/// Entry points of cuBLAS' older interface, found by name by CublasLibrary: the calls that Benanza
/// measured. cuBLASLt has a library of its own.
struct BlasCalls {
  /// Entry points of cuBLASLt, found by name by CublasLibrary.
  struct Lt {
    /// Binary layout of cublasLtMatmulAlgo_t.
    struct Algorithm {
      std::array<std::uint64_t, 8> data{};
    };

    /// Binary layout of cublasLtMatmulHeuristicResult_t.
    struct Choice {
      Algorithm algorithm;
      std::size_t workspace = 0;
      int state = 0;
      float waves = 0.0F;
      std::array<int, 4> reserved{};
    };

    /// Values of cudaDataType_t.
    enum class Type : int {
      kF32 = 0,
      kF64 = 1,
      kF16 = 2,
      kS8 = 3,
      kS32 = 10,
      kBf16 = 14,
      kF8E4M3 = 28,
      kF8E5M2 = 29,
    };

    /// Values of cublasComputeType_t.
    enum class Compute : int { kF32 = 68, kF64 = 70, kS32 = 72, kF32AsTf32 = 77 };

    /// Values of cublasOperation_t.
    enum class Operation : int { kNone = 0, kTranspose = 1 };

    /// Values of cublasLtMatmulDescAttributes_t.
    enum class ProductAttribute : int {
      kTransposeA = 3,
      kTransposeB = 4,
      kEpilogue = 7,
      kBiasPointer = 8,
      kAuxPointer = 11,
      kAuxLeading = 12,
      kFastAccumulation = 25,
    };

    /// Values of cublasLtMatrixLayoutAttribute_t.
    enum class MatrixAttribute : int { kBatchCount = 5, kBatchStride = 6 };

    /// Values of cublasLtMatmulPreferenceAttributes_t.
    enum class PreferenceAttribute : int { kMaxWorkspace = 1 };

    /// Values of cublasLtEpilogue_t.
    enum class Epilogue : int {
      kDefault = 1,
      kRelu = 2,
      kBias = 4,
      kReluBias = 6,
      kGelu = 32,
      kGeluBias = 36,
      kReluGradient = 136,
      kReluGradientBias = 152,
      kGeluGradient = 192,
      kGeluGradientBias = 208,
      kBiasGradientA = 256,
      kBiasGradientB = 512,
    };

    /// Values of cublasLtMatmulAlgoConfigAttributes_t.
    enum class Setting : int {
      kId = 0,
      kTile = 1,
      kSplitK = 2,
      kReduction = 3,
      kSwizzle = 4,
      kCustom = 5,
      kStages = 6,
      kInnerShape = 7,
      kCluster = 8,
    };

    std::size_t (*version)() = nullptr;
    const char* (*status_name)(int) = nullptr;
    int (*create)(LtHandle*) = nullptr;
    int (*destroy)(LtHandle) = nullptr;
    int (*product_create)(LtDescriptor*, Compute, Type) = nullptr;
    int (*product_destroy)(LtDescriptor) = nullptr;
    int (*product_set)(LtDescriptor, ProductAttribute, const void*, std::size_t) = nullptr;
    int (*matrix_create)(LtDescriptor*, Type, std::uint64_t, std::uint64_t, std::int64_t) = nullptr;
    int (*matrix_destroy)(LtDescriptor) = nullptr;
    int (*matrix_set)(LtDescriptor, MatrixAttribute, const void*, std::size_t) = nullptr;
    int (*preference_create)(LtDescriptor*) = nullptr;
    int (*preference_destroy)(LtDescriptor) = nullptr;
    int (*preference_set)(LtDescriptor, PreferenceAttribute, const void*, std::size_t) = nullptr;
    int (*heuristic)(LtHandle,
                     LtDescriptor,
                     LtDescriptor,
                     LtDescriptor,
                     LtDescriptor,
                     LtDescriptor,
                     LtDescriptor,
                     int,
                     Choice*,
                     int*) = nullptr;
    int (*setting)(const Algorithm*, Setting, void*, std::size_t, std::size_t*) = nullptr;
    int (*capability)(const Algorithm*, int, void*, std::size_t, std::size_t*) = nullptr;
    int (*product)(LtHandle,
                   LtDescriptor,
                   const void*,
                   const void*,
                   LtDescriptor,
                   const void*,
                   LtDescriptor,
                   const void*,
                   const void*,
                   LtDescriptor,
                   void*,
                   LtDescriptor,
                   const Algorithm*,
                   void*,
                   std::size_t,
                   Stream) = nullptr;
  };

  int (*create)(BlasHandle*) = nullptr;
  int (*destroy)(BlasHandle) = nullptr;
  int (*set_stream)(BlasHandle, Stream) = nullptr;
  int (*set_workspace)(BlasHandle, void*, std::size_t) = nullptr;
  int (*gemm)(BlasHandle,
              Lt::Operation,
              Lt::Operation,
              int,
              int,
              int,
              const void*,
              const void*,
              Lt::Type,
              int,
              const void*,
              Lt::Type,
              int,
              const void*,
              void*,
              Lt::Type,
              int,
              Lt::Compute,
              int) = nullptr;
  int (*batched)(BlasHandle,
                 Lt::Operation,
                 Lt::Operation,
                 int,
                 int,
                 int,
                 const void*,
                 const void*,
                 Lt::Type,
                 int,
                 long long,
                 const void*,
                 Lt::Type,
                 int,
                 long long,
                 const void*,
                 void*,
                 Lt::Type,
                 int,
                 long long,
                 int,
                 Lt::Compute,
                 int) = nullptr;
  /// Call of a product of a matrix and a vector. `Number` is float or double.
  template <typename Number>
  using Gemv = int (*)(BlasHandle,
                       Lt::Operation,
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
