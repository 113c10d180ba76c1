// SPDX-License-Identifier: Apache-2.0
// Compares what the ABI headers of cuBLASLt and cuBLAS state with NVIDIA's own headers.
#include "runners/cuda/blas/blas_abi.hpp"

#include <gtest/gtest.h>

#include "runners/cuda/driver/cublas_abi.hpp"
#include "tests/support/nvidia_required.hpp"
#include "tests/unit/cuda_abi/declared_calls.hpp"

#if __has_include(<cublasLt.h>) && __has_include(<cublas_v2.h>)
#include <cublasLt.h>
#include <cublas_v2.h>

namespace plumb::cuda::abi {

template <>
inline constexpr bool kStandsFor<LtType, cudaDataType> = true;
template <>
inline constexpr bool kStandsFor<LtCompute, cublasComputeType_t> = true;
template <>
inline constexpr bool kStandsFor<LtOperation, cublasOperation_t> = true;
template <>
inline constexpr bool kStandsFor<LtProductAttribute, cublasLtMatmulDescAttributes_t> = true;
template <>
inline constexpr bool kStandsFor<LtMatrixAttribute, cublasLtMatrixLayoutAttribute_t> = true;
template <>
inline constexpr bool kStandsFor<LtPreferenceAttribute, cublasLtMatmulPreferenceAttributes_t> =
    true;
template <>
inline constexpr bool kStandsFor<LtSetting, cublasLtMatmulAlgoConfigAttributes_t> = true;
template <>
inline constexpr bool kStandsFor<LtAlgorithm, cublasLtMatmulAlgo_t> = true;
template <>
inline constexpr bool kStandsFor<LtChoice, cublasLtMatmulHeuristicResult_t> = true;

namespace {

// cublas_api.h has inline functions of these two names as well. A list that is not the library's
// does not compile.
using Gemm = cublasStatus_t(cublasHandle_t,
                            cublasOperation_t,
                            cublasOperation_t,
                            int,
                            int,
                            int,
                            const void*,
                            const void*,
                            cudaDataType,
                            int,
                            const void*,
                            cudaDataType,
                            int,
                            const void*,
                            void*,
                            cudaDataType,
                            int,
                            cublasComputeType_t,
                            cublasGemmAlgo_t);
using BatchedGemm = cublasStatus_t(cublasHandle_t,
                                   cublasOperation_t,
                                   cublasOperation_t,
                                   int,
                                   int,
                                   int,
                                   const void*,
                                   const void*,
                                   cudaDataType,
                                   int,
                                   long long int,
                                   const void*,
                                   cudaDataType,
                                   int,
                                   long long int,
                                   const void*,
                                   void*,
                                   cudaDataType,
                                   int,
                                   long long int,
                                   int,
                                   cublasComputeType_t,
                                   cublasGemmAlgo_t);
#define PLUMB_OVERLOADED(function, Type)                                                      \
  if (name == #function) {                                                                    \
    return kSameCall<Ours, std::remove_pointer_t<decltype(static_cast<Type*>(&(function)))>>; \
  }

/// Entry points of cuBLASLt as its header declares them.
struct LtHeader {
  template <typename Ours>
  static constexpr bool declares(std::string_view name) {
    PLUMB_DECLARED(cublasLtGetVersion)
    PLUMB_DECLARED(cublasLtGetStatusName)
    PLUMB_DECLARED(cublasLtCreate)
    PLUMB_DECLARED(cublasLtDestroy)
    PLUMB_DECLARED(cublasLtMatmulDescCreate)
    PLUMB_DECLARED(cublasLtMatmulDescDestroy)
    PLUMB_DECLARED(cublasLtMatmulDescSetAttribute)
    PLUMB_DECLARED(cublasLtMatrixLayoutCreate)
    PLUMB_DECLARED(cublasLtMatrixLayoutDestroy)
    PLUMB_DECLARED(cublasLtMatrixLayoutSetAttribute)
    PLUMB_DECLARED(cublasLtMatmulPreferenceCreate)
    PLUMB_DECLARED(cublasLtMatmulPreferenceDestroy)
    PLUMB_DECLARED(cublasLtMatmulPreferenceSetAttribute)
    PLUMB_DECLARED(cublasLtMatmulAlgoGetHeuristic)
    PLUMB_DECLARED(cublasLtMatmulAlgoConfigGetAttribute)
    PLUMB_DECLARED(cublasLtMatmulAlgoCapGetAttribute)
    PLUMB_DECLARED(cublasLtMatmul)
    return false;
  }
};

/// Entry points of cuBLAS as its header declares them.
struct BlasHeader {
  template <typename Ours>
  static constexpr bool declares(std::string_view name) {
    PLUMB_DECLARED(cublasCreate_v2)
    PLUMB_DECLARED(cublasDestroy_v2)
    PLUMB_DECLARED(cublasSetStream_v2)
    PLUMB_DECLARED(cublasSetWorkspace_v2)
    PLUMB_OVERLOADED(cublasGemmEx, Gemm)
    PLUMB_OVERLOADED(cublasGemmStridedBatchedEx, BatchedGemm)
    PLUMB_DECLARED(cublasSgemv_v2)
    PLUMB_DECLARED(cublasDgemv_v2)
    return false;
  }
};

static_assert(are_declared<LtHeader, LtCalls>([](auto& calls, auto visit) {
  for_each_lt_call(calls, visit);
}));
static_assert(are_declared<BlasHeader, BlasCalls>([](auto& calls, auto visit) {
  for_each_blas_call(calls, visit);
}));

PLUMB_SAME_FIELD(LtAlgorithm, data, cublasLtMatmulAlgo_t, data);
PLUMB_SAME_FIELD(LtChoice, algorithm, cublasLtMatmulHeuristicResult_t, algo);
PLUMB_SAME_FIELD(LtChoice, workspace, cublasLtMatmulHeuristicResult_t, workspaceSize);
PLUMB_SAME_FIELD(LtChoice, state, cublasLtMatmulHeuristicResult_t, state);
PLUMB_SAME_FIELD(LtChoice, waves, cublasLtMatmulHeuristicResult_t, wavesCount);
PLUMB_SAME_FIELD(LtChoice, reserved, cublasLtMatmulHeuristicResult_t, reserved);
static_assert(same(LtType::kF32, CUDA_R_32F));
static_assert(same(LtType::kF64, CUDA_R_64F));
static_assert(same(LtType::kF16, CUDA_R_16F));
static_assert(same(LtType::kS8, CUDA_R_8I));
static_assert(same(LtType::kS32, CUDA_R_32I));
static_assert(same(LtType::kBf16, CUDA_R_16BF));
static_assert(same(LtType::kF8E4M3, CUDA_R_8F_E4M3));
static_assert(same(LtType::kF8E5M2, CUDA_R_8F_E5M2));
static_assert(same(LtCompute::kF32, CUBLAS_COMPUTE_32F));
static_assert(same(LtCompute::kF64, CUBLAS_COMPUTE_64F));
static_assert(same(LtCompute::kS32, CUBLAS_COMPUTE_32I));
static_assert(same(LtCompute::kF32AsTf32, CUBLAS_COMPUTE_32F_FAST_TF32));
static_assert(same(LtOperation::kNone, CUBLAS_OP_N));
static_assert(same(LtOperation::kTranspose, CUBLAS_OP_T));
static_assert(same(LtProductAttribute::kTransposeA, CUBLASLT_MATMUL_DESC_TRANSA));
static_assert(same(LtProductAttribute::kTransposeB, CUBLASLT_MATMUL_DESC_TRANSB));
static_assert(same(LtProductAttribute::kEpilogue, CUBLASLT_MATMUL_DESC_EPILOGUE));
static_assert(same(LtProductAttribute::kBiasPointer, CUBLASLT_MATMUL_DESC_BIAS_POINTER));
static_assert(same(LtProductAttribute::kAuxPointer, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER));
static_assert(same(LtProductAttribute::kAuxLeading, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD));
static_assert(same(LtProductAttribute::kFastAccumulation, CUBLASLT_MATMUL_DESC_FAST_ACCUM));
static_assert(same(LtMatrixAttribute::kBatchCount, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT));
static_assert(same(LtMatrixAttribute::kBatchStride, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET));
static_assert(same(LtPreferenceAttribute::kMaxWorkspace, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES));
static_assert(same(LtEpilogue::kDefault, CUBLASLT_EPILOGUE_DEFAULT));
static_assert(same(LtEpilogue::kRelu, CUBLASLT_EPILOGUE_RELU));
static_assert(same(LtEpilogue::kBias, CUBLASLT_EPILOGUE_BIAS));
static_assert(same(LtEpilogue::kReluBias, CUBLASLT_EPILOGUE_RELU_BIAS));
static_assert(same(LtEpilogue::kGelu, CUBLASLT_EPILOGUE_GELU));
static_assert(same(LtEpilogue::kGeluBias, CUBLASLT_EPILOGUE_GELU_BIAS));
static_assert(same(LtEpilogue::kReluGradient, CUBLASLT_EPILOGUE_DRELU));
static_assert(same(LtEpilogue::kReluGradientBias, CUBLASLT_EPILOGUE_DRELU_BGRAD));
static_assert(same(LtEpilogue::kGeluGradient, CUBLASLT_EPILOGUE_DGELU));
static_assert(same(LtEpilogue::kGeluGradientBias, CUBLASLT_EPILOGUE_DGELU_BGRAD));
static_assert(same(LtEpilogue::kBiasGradientA, CUBLASLT_EPILOGUE_BGRADA));
static_assert(same(LtEpilogue::kBiasGradientB, CUBLASLT_EPILOGUE_BGRADB));
static_assert(same(LtSetting::kId, CUBLASLT_ALGO_CONFIG_ID));
static_assert(same(LtSetting::kTile, CUBLASLT_ALGO_CONFIG_TILE_ID));
static_assert(same(LtSetting::kSplitK, CUBLASLT_ALGO_CONFIG_SPLITK_NUM));
static_assert(same(LtSetting::kReduction, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME));
static_assert(same(LtSetting::kSwizzle, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING));
static_assert(same(LtSetting::kCustom, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION));
static_assert(same(LtSetting::kStages, CUBLASLT_ALGO_CONFIG_STAGES_ID));
static_assert(same(LtSetting::kInnerShape, CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID));
static_assert(same(LtSetting::kCluster, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID));
static_assert(same(kLtAllocFailed, CUBLAS_STATUS_ALLOC_FAILED));
static_assert(same(kLtNumericalFlags, CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS));
static_assert(same(kLtFma, CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA));
static_assert(same(kLtHmma, CUBLASLT_NUMERICAL_IMPL_FLAGS_HMMA));
static_assert(same(kLtImma, CUBLASLT_NUMERICAL_IMPL_FLAGS_IMMA));
static_assert(same(kLtDmma, CUBLASLT_NUMERICAL_IMPL_FLAGS_DMMA));
static_assert(same(kLtTensorOperations, CUBLASLT_NUMERICAL_IMPL_FLAGS_TENSOR_OP_MASK));
static_assert(same(kLtAccumulatorF16, CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_16F));
static_assert(same(kLtAccumulatorF32, CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_32F));
static_assert(same(kLtAccumulatorF64, CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_64F));
static_assert(same(kLtAccumulatorS32, CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_32I));
static_assert(same(kLtInputF16, CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16F));
static_assert(same(kLtInputBf16, CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16BF));
static_assert(same(kLtInputTf32, CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_TF32));
static_assert(same(kLtInputF32, CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_32F));
static_assert(same(kLtInputF64, CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_64F));
static_assert(same(kLtInputS8, CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_8I));
static_assert(same(kLtInputF8E4M3, CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_8F_E4M3));
static_assert(same(kLtInputF8E5M2, CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_8F_E5M2));
static_assert(same(kLtGaussian, CUBLASLT_NUMERICAL_IMPL_FLAGS_GAUSSIAN));
static_assert(same(kBlasDefaultAlgorithm, CUBLAS_GEMM_DEFAULT));
static_assert(same(kLtSuccess, CUBLAS_STATUS_SUCCESS));

TEST(BlasAbi, states_the_headers_numbers) {
  SUCCEED() << "compared when this file was compiled";
}

}  // namespace
}  // namespace plumb::cuda::abi
#else
TEST(BlasAbi, states_the_headers_numbers) {
  PLUMB_WITHOUT_NVIDIA() << "the headers of cuBLAS are not here";
}
#endif
