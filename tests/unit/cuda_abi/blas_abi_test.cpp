// SPDX-License-Identifier: Apache-2.0
// Compares what the ABI headers of cuBLASLt and cuBLAS state with NVIDIA's own headers.

#include <gtest/gtest.h>

#include "runners/cuda/driver/cublas_abi.hpp"
#include "tests/support/nvidia_required.hpp"
#include "tests/unit/cuda_abi/declared_calls.hpp"

#if __has_include(<cublasLt.h>) && __has_include(<cublas_v2.h>)
#include <cublasLt.h>
#include <cublas_v2.h>

namespace plumb::cuda::abi {

template <>
inline constexpr bool kStandsFor<BlasCalls::Lt::Type, cudaDataType> = true;
template <>
inline constexpr bool kStandsFor<BlasCalls::Lt::Compute, cublasComputeType_t> = true;
template <>
inline constexpr bool kStandsFor<BlasCalls::Lt::Operation, cublasOperation_t> = true;
template <>
inline constexpr bool kStandsFor<BlasCalls::Lt::ProductAttribute, cublasLtMatmulDescAttributes_t> =
    true;
template <>
inline constexpr bool kStandsFor<BlasCalls::Lt::MatrixAttribute, cublasLtMatrixLayoutAttribute_t> =
    true;
template <>
inline constexpr bool
    kStandsFor<BlasCalls::Lt::PreferenceAttribute, cublasLtMatmulPreferenceAttributes_t> = true;
template <>
inline constexpr bool kStandsFor<BlasCalls::Lt::Setting, cublasLtMatmulAlgoConfigAttributes_t> =
    true;
template <>
inline constexpr bool kStandsFor<BlasCalls::Lt::Algorithm, cublasLtMatmulAlgo_t> = true;
template <>
inline constexpr bool kStandsFor<BlasCalls::Lt::Choice, cublasLtMatmulHeuristicResult_t> = true;

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

static_assert(are_declared<LtHeader, BlasCalls::Lt>([](auto& calls, auto visit) {
  for_each_lt_call(calls, visit);
}));
static_assert(are_declared<BlasHeader, BlasCalls>([](auto& calls, auto visit) {
  for_each_blas_call(calls, visit);
}));

PLUMB_SAME_FIELD(BlasCalls::Lt::Algorithm, data, cublasLtMatmulAlgo_t, data);
PLUMB_SAME_FIELD(BlasCalls::Lt::Choice, algorithm, cublasLtMatmulHeuristicResult_t, algo);
PLUMB_SAME_FIELD(BlasCalls::Lt::Choice, workspace, cublasLtMatmulHeuristicResult_t, workspaceSize);
PLUMB_SAME_FIELD(BlasCalls::Lt::Choice, state, cublasLtMatmulHeuristicResult_t, state);
PLUMB_SAME_FIELD(BlasCalls::Lt::Choice, waves, cublasLtMatmulHeuristicResult_t, wavesCount);
PLUMB_SAME_FIELD(BlasCalls::Lt::Choice, reserved, cublasLtMatmulHeuristicResult_t, reserved);
static_assert(same(BlasCalls::Lt::Type::kF32, CUDA_R_32F));
static_assert(same(BlasCalls::Lt::Type::kF64, CUDA_R_64F));
static_assert(same(BlasCalls::Lt::Type::kF16, CUDA_R_16F));
static_assert(same(BlasCalls::Lt::Type::kS8, CUDA_R_8I));
static_assert(same(BlasCalls::Lt::Type::kS32, CUDA_R_32I));
static_assert(same(BlasCalls::Lt::Type::kBf16, CUDA_R_16BF));
static_assert(same(BlasCalls::Lt::Type::kF8E4M3, CUDA_R_8F_E4M3));
static_assert(same(BlasCalls::Lt::Type::kF8E5M2, CUDA_R_8F_E5M2));
static_assert(same(BlasCalls::Lt::Compute::kF32, CUBLAS_COMPUTE_32F));
static_assert(same(BlasCalls::Lt::Compute::kF64, CUBLAS_COMPUTE_64F));
static_assert(same(BlasCalls::Lt::Compute::kS32, CUBLAS_COMPUTE_32I));
static_assert(same(BlasCalls::Lt::Compute::kF32AsTf32, CUBLAS_COMPUTE_32F_FAST_TF32));
static_assert(same(BlasCalls::Lt::Operation::kNone, CUBLAS_OP_N));
static_assert(same(BlasCalls::Lt::Operation::kTranspose, CUBLAS_OP_T));
static_assert(same(BlasCalls::Lt::ProductAttribute::kTransposeA, CUBLASLT_MATMUL_DESC_TRANSA));
static_assert(same(BlasCalls::Lt::ProductAttribute::kTransposeB, CUBLASLT_MATMUL_DESC_TRANSB));
static_assert(same(BlasCalls::Lt::ProductAttribute::kEpilogue, CUBLASLT_MATMUL_DESC_EPILOGUE));
static_assert(same(BlasCalls::Lt::ProductAttribute::kBiasPointer,
                   CUBLASLT_MATMUL_DESC_BIAS_POINTER));
static_assert(same(BlasCalls::Lt::ProductAttribute::kAuxPointer,
                   CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER));
static_assert(same(BlasCalls::Lt::ProductAttribute::kAuxLeading,
                   CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD));
static_assert(same(BlasCalls::Lt::ProductAttribute::kFastAccumulation,
                   CUBLASLT_MATMUL_DESC_FAST_ACCUM));
static_assert(same(BlasCalls::Lt::MatrixAttribute::kBatchCount,
                   CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT));
static_assert(same(BlasCalls::Lt::MatrixAttribute::kBatchStride,
                   CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET));
static_assert(same(BlasCalls::Lt::PreferenceAttribute::kMaxWorkspace,
                   CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES));
static_assert(same(BlasCalls::Lt::Epilogue::kDefault, CUBLASLT_EPILOGUE_DEFAULT));
static_assert(same(BlasCalls::Lt::Epilogue::kRelu, CUBLASLT_EPILOGUE_RELU));
static_assert(same(BlasCalls::Lt::Epilogue::kBias, CUBLASLT_EPILOGUE_BIAS));
static_assert(same(BlasCalls::Lt::Epilogue::kReluBias, CUBLASLT_EPILOGUE_RELU_BIAS));
static_assert(same(BlasCalls::Lt::Epilogue::kGelu, CUBLASLT_EPILOGUE_GELU));
static_assert(same(BlasCalls::Lt::Epilogue::kGeluBias, CUBLASLT_EPILOGUE_GELU_BIAS));
static_assert(same(BlasCalls::Lt::Epilogue::kReluGradient, CUBLASLT_EPILOGUE_DRELU));
static_assert(same(BlasCalls::Lt::Epilogue::kReluGradientBias, CUBLASLT_EPILOGUE_DRELU_BGRAD));
static_assert(same(BlasCalls::Lt::Epilogue::kGeluGradient, CUBLASLT_EPILOGUE_DGELU));
static_assert(same(BlasCalls::Lt::Epilogue::kGeluGradientBias, CUBLASLT_EPILOGUE_DGELU_BGRAD));
static_assert(same(BlasCalls::Lt::Epilogue::kBiasGradientA, CUBLASLT_EPILOGUE_BGRADA));
static_assert(same(BlasCalls::Lt::Epilogue::kBiasGradientB, CUBLASLT_EPILOGUE_BGRADB));
static_assert(same(BlasCalls::Lt::Setting::kId, CUBLASLT_ALGO_CONFIG_ID));
static_assert(same(BlasCalls::Lt::Setting::kTile, CUBLASLT_ALGO_CONFIG_TILE_ID));
static_assert(same(BlasCalls::Lt::Setting::kSplitK, CUBLASLT_ALGO_CONFIG_SPLITK_NUM));
static_assert(same(BlasCalls::Lt::Setting::kReduction, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME));
static_assert(same(BlasCalls::Lt::Setting::kSwizzle, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING));
static_assert(same(BlasCalls::Lt::Setting::kCustom, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION));
static_assert(same(BlasCalls::Lt::Setting::kStages, CUBLASLT_ALGO_CONFIG_STAGES_ID));
static_assert(same(BlasCalls::Lt::Setting::kInnerShape, CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID));
static_assert(same(BlasCalls::Lt::Setting::kCluster, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID));
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
