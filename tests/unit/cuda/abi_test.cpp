// SPDX-License-Identifier: Apache-2.0
// Compares the numbers stated in our ABI headers with those of NVIDIA's, where the toolkit is.
#include <gtest/gtest.h>

#include <cstddef>
#include <type_traits>

#include "runners/cuda/blas/blas_abi.hpp"
#include "runners/cuda/dnn/cudnn_abi.hpp"
#include "runners/cuda/dnn/legacy_abi.hpp"
#include "runners/cuda/dnn/recurrent_abi.hpp"
#include "runners/cuda/driver/cublas_abi.hpp"
#include "runners/cuda/driver/driver_abi.hpp"
#include "runners/cuda/driver/graph_abi.hpp"

#if __has_include(<cuda.h>) && __has_include(<cudnn.h>) && __has_include(<cublasLt.h>)
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda.h>
#include <cudnn.h>

namespace plumb::cuda::abi {
namespace {

template <typename Ours, typename Theirs>
consteval bool same(Ours ours, Theirs theirs) {
  return static_cast<long long>(ours) == static_cast<long long>(theirs);
}

static_assert(sizeof(DevicePointer) == sizeof(CUdeviceptr));
static_assert(sizeof(Uuid) == sizeof(CUuuid));
static_assert(same(kDriverOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY));
static_assert(same(kDriverStubLibrary, CUDA_ERROR_STUB_LIBRARY));
static_assert(same(kDriverNoDevice, CUDA_ERROR_NO_DEVICE));
static_assert(same(DeviceAttribute::kClockRate, CU_DEVICE_ATTRIBUTE_CLOCK_RATE));
static_assert(same(DeviceAttribute::kMultiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
static_assert(same(DeviceAttribute::kComputeMode, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE));
static_assert(same(DeviceAttribute::kEccEnabled, CU_DEVICE_ATTRIBUTE_ECC_ENABLED));
static_assert(same(DeviceAttribute::kPciBus, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID));
static_assert(same(DeviceAttribute::kPciDevice, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID));
static_assert(same(DeviceAttribute::kPciDomain, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID));
static_assert(same(DeviceAttribute::kMemoryClockRate, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE));
static_assert(same(DeviceAttribute::kMemoryBusWidth, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH));
static_assert(same(DeviceAttribute::kL2CacheSize, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE));
static_assert(same(DeviceAttribute::kComputeMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
static_assert(same(DeviceAttribute::kComputeMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
static_assert(same(DeviceAttribute::kThreadsPerBlock, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
static_assert(same(DeviceAttribute::kBlockX, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X));
static_assert(same(DeviceAttribute::kBlockY, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y));
static_assert(same(DeviceAttribute::kBlockZ, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z));
static_assert(same(DeviceAttribute::kGridX, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X));
static_assert(same(DeviceAttribute::kGridY, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y));
static_assert(same(DeviceAttribute::kGridZ, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z));
static_assert(same(DeviceAttribute::kSharedMemoryPerBlock,
                   CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK));
static_assert(same(DeviceAttribute::kWarpSize, CU_DEVICE_ATTRIBUTE_WARP_SIZE));
static_assert(same(DeviceAttribute::kRegistersPerBlock,
                   CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK));
static_assert(same(DeviceAttribute::kTccDriver, CU_DEVICE_ATTRIBUTE_TCC_DRIVER));
static_assert(same(DeviceAttribute::kThreadsPerMultiprocessor,
                   CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR));
static_assert(same(DeviceAttribute::kRegistersPerMultiprocessor,
                   CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR));
static_assert(same(DeviceAttribute::kCooperativeLaunch, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH));
static_assert(same(DeviceAttribute::kSharedMemoryPerBlockOptin,
                   CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));
static_assert(same(DeviceAttribute::kBlocksPerMultiprocessor,
                   CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR));
static_assert(same(DeviceAttribute::kReservedSharedMemoryPerBlock,
                   CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK));
static_assert(same(kStreamNonBlocking, CU_STREAM_NON_BLOCKING));
static_assert(same(kEventDefault, CU_EVENT_DEFAULT));
static_assert(same(kEventNoTiming, CU_EVENT_DISABLE_TIMING));
static_assert(same(kEventRecordExternal, CU_EVENT_RECORD_EXTERNAL));
static_assert(same(kCaptureThreadLocal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));

static_assert(sizeof(GraphEdge) == sizeof(CUgraphEdgeData));
static_assert(same(NodeType::kKernel, CU_GRAPH_NODE_TYPE_KERNEL));
static_assert(same(NodeType::kCopy, CU_GRAPH_NODE_TYPE_MEMCPY));
static_assert(same(NodeType::kSet, CU_GRAPH_NODE_TYPE_MEMSET));
static_assert(same(NodeType::kHost, CU_GRAPH_NODE_TYPE_HOST));
static_assert(same(NodeType::kGraph, CU_GRAPH_NODE_TYPE_GRAPH));
static_assert(same(NodeType::kEmpty, CU_GRAPH_NODE_TYPE_EMPTY));
static_assert(sizeof(KernelNode) == sizeof(CUDA_KERNEL_NODE_PARAMS));
static_assert(offsetof(KernelNode, function) == offsetof(CUDA_KERNEL_NODE_PARAMS, func));
static_assert(offsetof(KernelNode, grid) == offsetof(CUDA_KERNEL_NODE_PARAMS, gridDimX));
static_assert(offsetof(KernelNode, block) == offsetof(CUDA_KERNEL_NODE_PARAMS, blockDimX));
static_assert(offsetof(KernelNode, dynamic_shared) ==
              offsetof(CUDA_KERNEL_NODE_PARAMS, sharedMemBytes));
static_assert(offsetof(KernelNode, kernel) == offsetof(CUDA_KERNEL_NODE_PARAMS, kern));
static_assert(sizeof(GraphUpdate) == sizeof(CUgraphExecUpdateResultInfo));
static_assert(offsetof(GraphUpdate, result) == offsetof(CUgraphExecUpdateResultInfo, result));
static_assert(same(GraphUpdateResult::kUpdated, CU_GRAPH_EXEC_UPDATE_SUCCESS));
static_assert(same(GraphUpdateResult::kError, CU_GRAPH_EXEC_UPDATE_ERROR));
static_assert(same(GraphUpdateResult::kTopologyChanged,
                   CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED));
static_assert(same(GraphUpdateResult::kNodeTypeChanged,
                   CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED));
static_assert(same(GraphUpdateResult::kFunctionChanged,
                   CU_GRAPH_EXEC_UPDATE_ERROR_FUNCTION_CHANGED));
static_assert(same(GraphUpdateResult::kParametersChanged,
                   CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED));
static_assert(same(GraphUpdateResult::kNotSupported, CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED));
static_assert(same(GraphUpdateResult::kUnsupportedFunctionChange,
                   CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE));
static_assert(same(GraphUpdateResult::kAttributesChanged,
                   CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED));
static_assert(same(kFunctionStaticShared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
static_assert(same(kFunctionRegisters, CU_FUNC_ATTRIBUTE_NUM_REGS));

// The entry points' own declarations: as many arguments, of as many bytes.
template <typename Status, typename... Ours, typename... Theirs>
consteval bool alike(int (*)(Ours...), Status (*)(Theirs...)) {
  if constexpr (sizeof...(Ours) == sizeof...(Theirs)) {
    return ((sizeof(Ours) == sizeof(Theirs)) && ...);
  }
  return false;
}
static_assert(alike(decltype(GraphCalls::nodes){}, &cuGraphGetNodes));
static_assert(alike(decltype(GraphCalls::edges){}, &cuGraphGetEdges));  // cuda.h: its _v2
static_assert(alike(decltype(GraphCalls::node_type){}, &cuGraphNodeGetType));
static_assert(alike(decltype(GraphCalls::kernel_node){}, &cuGraphKernelNodeGetParams));
static_assert(alike(decltype(GraphCalls::child_graph){}, &cuGraphChildGraphNodeGetGraph));
static_assert(alike(decltype(GraphCalls::kernel_function){}, &cuKernelGetFunction));
static_assert(alike(decltype(GraphCalls::function_name){}, &cuFuncGetName));
static_assert(alike(decltype(GraphCalls::function_attribute){}, &cuFuncGetAttribute));
static_assert(alike(decltype(GraphCalls::update){}, &cuGraphExecUpdate));

static_assert(same(DescriptorType::kPointwise, CUDNN_BACKEND_POINTWISE_DESCRIPTOR));
static_assert(same(DescriptorType::kEngine, CUDNN_BACKEND_ENGINE_DESCRIPTOR));
static_assert(same(DescriptorType::kExecutionPlan, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR));
static_assert(same(DescriptorType::kConvolutionBackwardData,
                   CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR));
static_assert(same(DescriptorType::kOperationGraph, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR));
static_assert(same(DescriptorType::kTensor, CUDNN_BACKEND_TENSOR_DESCRIPTOR));
static_assert(same(DescriptorType::kDeviceProperties, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR));
static_assert(same(ValueType::kDescriptor, CUDNN_TYPE_BACKEND_DESCRIPTOR));
static_assert(same(ValueType::kPointwiseMode, CUDNN_TYPE_POINTWISE_MODE));
static_assert(same(ValueType::kChar, CUDNN_TYPE_CHAR));
static_assert(same(Attribute::kConfigurationWorkspace, CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE));
static_assert(same(Attribute::kEngineNumericalNotes, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE));
static_assert(same(Attribute::kPlanDevice, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP));
static_assert(same(Attribute::kPlanJson, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION));
static_assert(same(Attribute::kGraphEngineCount, CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT));
static_assert(same(Attribute::kBackwardDataAlpha, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA));
static_assert(same(Attribute::kBackwardDataBeta, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA));
static_assert(same(Attribute::kBackwardDataConvolution,
                   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC));
static_assert(same(Attribute::kBackwardDataWeights, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W));
static_assert(same(Attribute::kBackwardDataInputGradient,
                   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX));
static_assert(same(Attribute::kBackwardDataOutputGradient,
                   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY));
static_assert(same(LtProductAttribute::kAuxPointer, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER));
static_assert(same(LtProductAttribute::kAuxLeading, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD));
static_assert(same(LtProductAttribute::kFastAccumulation, CUBLASLT_MATMUL_DESC_FAST_ACCUM));
static_assert(same(LtEpilogue::kReluGradient, CUBLASLT_EPILOGUE_DRELU));
static_assert(same(LtEpilogue::kReluGradientBias, CUBLASLT_EPILOGUE_DRELU_BGRAD));
static_assert(same(LtEpilogue::kGeluGradient, CUBLASLT_EPILOGUE_DGELU));
static_assert(same(LtEpilogue::kGeluGradientBias, CUBLASLT_EPILOGUE_DGELU_BGRAD));
static_assert(same(LtEpilogue::kBiasGradientA, CUBLASLT_EPILOGUE_BGRADA));
static_assert(same(LtEpilogue::kBiasGradientB, CUBLASLT_EPILOGUE_BGRADB));
static_assert(same(DescriptorType::kConvolutionBackwardWeights,
                   CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR));
static_assert(same(Attribute::kBackwardWeightsAlpha,
                   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA));
static_assert(same(Attribute::kBackwardWeightsBeta,
                   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA));
static_assert(same(Attribute::kBackwardWeightsConvolution,
                   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC));
static_assert(same(Attribute::kBackwardWeightsGradient,
                   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW));
static_assert(same(Attribute::kBackwardWeightsInput,
                   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X));
static_assert(same(Attribute::kBackwardWeightsOutputGradient,
                   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY));
static_assert(same(Attribute::kDeviceJson, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION));
static_assert(same(DescriptorType::kNormForward, CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR));
static_assert(same(DescriptorType::kNormBackward,
                   CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR));
static_assert(same(ValueType::kNormMode, CUDNN_TYPE_NORM_MODE));
static_assert(same(ValueType::kNormPhase, CUDNN_TYPE_NORM_FWD_PHASE));
static_assert(same(NormMode::kLayer, CUDNN_LAYER_NORM));
static_assert(same(NormMode::kBatch, CUDNN_BATCH_NORM));
static_assert(same(NormPhase::kInference, CUDNN_NORM_FWD_INFERENCE));
static_assert(same(Attribute::kNormMode, CUDNN_ATTR_OPERATION_NORM_FWD_MODE));
static_assert(same(Attribute::kNormPhase, CUDNN_ATTR_OPERATION_NORM_FWD_PHASE));
static_assert(same(Attribute::kNormInput, CUDNN_ATTR_OPERATION_NORM_FWD_XDESC));
static_assert(same(Attribute::kNormScale, CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC));
static_assert(same(Attribute::kNormBias, CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC));
static_assert(same(Attribute::kNormEpsilon, CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC));
static_assert(same(Attribute::kNormOutput, CUDNN_ATTR_OPERATION_NORM_FWD_YDESC));
static_assert(same(Attribute::kNormGradientMode, CUDNN_ATTR_OPERATION_NORM_BWD_MODE));
static_assert(same(Attribute::kNormGradientInput, CUDNN_ATTR_OPERATION_NORM_BWD_XDESC));
static_assert(same(Attribute::kNormGradientMean, CUDNN_ATTR_OPERATION_NORM_BWD_MEAN_DESC));
static_assert(same(Attribute::kNormGradientInverseDeviation,
                   CUDNN_ATTR_OPERATION_NORM_BWD_INV_VARIANCE_DESC));
static_assert(same(Attribute::kNormGradientOutputGradient, CUDNN_ATTR_OPERATION_NORM_BWD_DYDESC));
static_assert(same(Attribute::kNormGradientScale, CUDNN_ATTR_OPERATION_NORM_BWD_SCALE_DESC));
static_assert(same(Attribute::kNormGradientScaleGradient,
                   CUDNN_ATTR_OPERATION_NORM_BWD_DSCALE_DESC));
static_assert(same(Attribute::kNormGradientBiasGradient, CUDNN_ATTR_OPERATION_NORM_BWD_DBIAS_DESC));
static_assert(same(Attribute::kNormGradientInputGradient, CUDNN_ATTR_OPERATION_NORM_BWD_DXDESC));
static_assert(same(Type::kBfloat16, CUDNN_DATA_BFLOAT16));
static_assert(same(HeuristicMode::kA, CUDNN_HEUR_MODE_A));
static_assert(same(PointwiseMode::kRelu, CUDNN_POINTWISE_RELU_FWD));
static_assert(same(PointwiseMode::kDivide, CUDNN_POINTWISE_DIV));
static_assert(same(PointwiseMode::kSubtract, CUDNN_POINTWISE_SUB));
static_assert(same(PointwiseMode::kExp, CUDNN_POINTWISE_EXP));
static_assert(same(PointwiseMode::kLog, CUDNN_POINTWISE_LOG));
static_assert(same(PointwiseMode::kGreaterEqual, CUDNN_POINTWISE_CMP_GE));
static_assert(same(PointwiseMode::kIndex, CUDNN_POINTWISE_GEN_INDEX));
static_assert(same(PointwiseMode::kSelect, CUDNN_POINTWISE_BINARY_SELECT));
static_assert(same(Reduction::kAdd, CUDNN_REDUCE_TENSOR_ADD));
static_assert(same(Reduction::kMax, CUDNN_REDUCE_TENSOR_MAX));
static_assert(same(Type::kInt8, CUDNN_DATA_INT8));
static_assert(same(Type::kInt32, CUDNN_DATA_INT32));
static_assert(same(Type::kBoolean, CUDNN_DATA_BOOLEAN));
static_assert(same(ValueType::kReduction, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE));
static_assert(same(DescriptorType::kMatmul, CUDNN_BACKEND_MATMUL_DESCRIPTOR));
static_assert(same(DescriptorType::kMatmulOperation, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR));
static_assert(same(DescriptorType::kReduction, CUDNN_BACKEND_REDUCTION_DESCRIPTOR));
static_assert(same(DescriptorType::kReductionOperation,
                   CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR));
static_assert(same(DescriptorType::kReshapeOperation, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR));
static_assert(same(Attribute::kReshapeInput, CUDNN_ATTR_OPERATION_RESHAPE_XDESC));
static_assert(same(Attribute::kReshapeOutput, CUDNN_ATTR_OPERATION_RESHAPE_YDESC));
static_assert(same(PointwiseMode::kIdentity, CUDNN_POINTWISE_IDENTITY));
static_assert(same(Attribute::kPointwiseAxis, CUDNN_ATTR_POINTWISE_AXIS));
static_assert(same(Attribute::kStepCondition, CUDNN_ATTR_OPERATION_POINTWISE_TDESC));
static_assert(same(Attribute::kTensorIsByValue, CUDNN_ATTR_TENSOR_IS_BY_VALUE));
static_assert(same(Attribute::kMatmulComputeType, CUDNN_ATTR_MATMUL_COMP_TYPE));
static_assert(same(Attribute::kMatmulLeft, CUDNN_ATTR_OPERATION_MATMUL_ADESC));
static_assert(same(Attribute::kMatmulRight, CUDNN_ATTR_OPERATION_MATMUL_BDESC));
static_assert(same(Attribute::kMatmulOutput, CUDNN_ATTR_OPERATION_MATMUL_CDESC));
static_assert(same(Attribute::kMatmulDescription, CUDNN_ATTR_OPERATION_MATMUL_DESC));
static_assert(same(Attribute::kReductionOperator, CUDNN_ATTR_REDUCTION_OPERATOR));
static_assert(same(Attribute::kReductionComputeType, CUDNN_ATTR_REDUCTION_COMP_TYPE));
static_assert(same(Attribute::kReductionInput, CUDNN_ATTR_OPERATION_REDUCTION_XDESC));
static_assert(same(Attribute::kReductionOutput, CUDNN_ATTR_OPERATION_REDUCTION_YDESC));
static_assert(same(Attribute::kReductionDescription, CUDNN_ATTR_OPERATION_REDUCTION_DESC));
static_assert(same(DescriptorType::kVariantPack, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR));
static_assert(same(ValueType::kHandle, CUDNN_TYPE_HANDLE));
static_assert(same(ValueType::kVoidPointer, CUDNN_TYPE_VOID_PTR));
static_assert(same(Attribute::kPlanHandle, CUDNN_ATTR_EXECUTION_PLAN_HANDLE));
static_assert(same(Attribute::kPlanWorkspace, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE));
static_assert(same(Attribute::kGraphHandle, CUDNN_ATTR_OPERATIONGRAPH_HANDLE));
static_assert(same(Attribute::kPackIds, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS));
static_assert(same(Attribute::kPackPointers, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS));
static_assert(same(Attribute::kPackWorkspace, CUDNN_ATTR_VARIANT_PACK_WORKSPACE));
static_assert(same(Attribute::kEngineOperationGraph, CUDNN_ATTR_ENGINE_OPERATION_GRAPH));
static_assert(same(Attribute::kEngineDevice, CUDNN_ATTR_ENGINE_DEVICEPROP));
static_assert(same(HeuristicMode::kB, CUDNN_HEUR_MODE_B));

static_assert(sizeof(LtAlgorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(LtChoice) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(LtChoice, workspace) ==
              offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
static_assert(offsetof(LtChoice, state) == offsetof(cublasLtMatmulHeuristicResult_t, state));
static_assert(same(kLtAllocFailed, CUBLAS_STATUS_ALLOC_FAILED));
static_assert(same(LtType::kF32, CUDA_R_32F));
static_assert(same(LtType::kF64, CUDA_R_64F));
static_assert(same(LtType::kF16, CUDA_R_16F));
static_assert(same(LtType::kBf16, CUDA_R_16BF));
static_assert(same(LtType::kS8, CUDA_R_8I));
static_assert(same(LtType::kS32, CUDA_R_32I));
static_assert(same(LtType::kF8E4M3, CUDA_R_8F_E4M3));
static_assert(same(LtType::kF8E5M2, CUDA_R_8F_E5M2));
static_assert(same(LtCompute::kS32, CUBLAS_COMPUTE_32I));
static_assert(same(LtCompute::kF32, CUBLAS_COMPUTE_32F));
static_assert(same(LtCompute::kF64, CUBLAS_COMPUTE_64F));
static_assert(same(LtCompute::kF32AsTf32, CUBLAS_COMPUTE_32F_FAST_TF32));
static_assert(same(LtOperation::kTranspose, CUBLAS_OP_T));
static_assert(same(LtProductAttribute::kTransposeA, CUBLASLT_MATMUL_DESC_TRANSA));
static_assert(same(LtProductAttribute::kTransposeB, CUBLASLT_MATMUL_DESC_TRANSB));
static_assert(same(LtProductAttribute::kEpilogue, CUBLASLT_MATMUL_DESC_EPILOGUE));
static_assert(same(LtProductAttribute::kBiasPointer, CUBLASLT_MATMUL_DESC_BIAS_POINTER));
static_assert(same(LtMatrixAttribute::kBatchCount, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT));
static_assert(same(LtMatrixAttribute::kBatchStride, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET));
static_assert(same(LtPreferenceAttribute::kMaxWorkspace, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES));
static_assert(same(LtEpilogue::kReluBias, CUBLASLT_EPILOGUE_RELU_BIAS));
static_assert(same(LtEpilogue::kGeluBias, CUBLASLT_EPILOGUE_GELU_BIAS));
static_assert(same(LtSetting::kStages, CUBLASLT_ALGO_CONFIG_STAGES_ID));
static_assert(same(LtSetting::kInnerShape, CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID));
static_assert(same(LtSetting::kCluster, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID));
static_assert(same(LtSetting::kCustom, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION));
static_assert(same(kLtNumericalFlags, CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS));
static_assert(same(kLtInputTf32, CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_TF32));
static_assert(same(kLtAccumulatorF16, CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_16F));
static_assert(same(kLtFma, CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA));
static_assert(same(kLtHmma, CUBLASLT_NUMERICAL_IMPL_FLAGS_HMMA));
static_assert(same(kLtImma, CUBLASLT_NUMERICAL_IMPL_FLAGS_IMMA));
static_assert(same(kLtDmma, CUBLASLT_NUMERICAL_IMPL_FLAGS_DMMA));
static_assert(same(kLtTensorOperations, CUBLASLT_NUMERICAL_IMPL_FLAGS_TENSOR_OP_MASK));
static_assert(same(kLtAccumulatorF32, CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_32F));
static_assert(same(kLtAccumulatorF64, CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_64F));
static_assert(same(kLtAccumulatorS32, CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_32I));
static_assert(same(kLtInputF16, CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16F));
static_assert(same(kLtInputBf16, CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16BF));
static_assert(same(kLtInputF32, CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_32F));
static_assert(same(kLtInputF64, CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_64F));
static_assert(same(kLtInputS8, CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_8I));
static_assert(same(kLtInputF8E4M3, CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_8F_E4M3));
static_assert(same(kLtInputF8E5M2, CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_8F_E5M2));
static_assert(same(kLtGaussian, CUBLASLT_NUMERICAL_IMPL_FLAGS_GAUSSIAN));

static_assert(same(kBlasDefaultAlgorithm, CUBLAS_GEMM_DEFAULT));
/// Tells whether values of two types are passed alike.
template <typename Ours, typename Theirs>
consteval bool passes_alike() {
  return sizeof(Ours) == sizeof(Theirs) && std::is_pointer_v<Ours> == std::is_pointer_v<Theirs> &&
         std::is_floating_point_v<Ours> == std::is_floating_point_v<Theirs>;
}
template <typename Result, typename... Ours, typename Other, typename... Theirs>
consteval bool same_call(Result (*)(Ours...), Other (*)(Theirs...)) {
  if constexpr (sizeof...(Ours) != sizeof...(Theirs)) {
    return false;
  } else {
    return passes_alike<Result, Other>() && (passes_alike<Ours, Theirs>() && ...);
  }
}
static_assert(same_call(RecurrentCalls().set, decltype (&cudnnSetRNNDescriptor_v8)()));
static_assert(same_call(RecurrentCalls().set_dropout, decltype (&cudnnSetDropoutDescriptor)()));
static_assert(same_call(RecurrentCalls().set_data, decltype (&cudnnSetRNNDataDescriptor)()));
static_assert(same_call(RecurrentCalls().build_dynamic, decltype (&cudnnBuildRNNDynamic)()));
static_assert(same_call(RecurrentCalls().temporary_sizes, decltype (&cudnnGetRNNTempSpaceSizes)()));
static_assert(same_call(RecurrentCalls().weight_bytes, decltype (&cudnnGetRNNWeightSpaceSize)()));
static_assert(same_call(RecurrentCalls().weight_place, decltype (&cudnnGetRNNWeightParams)()));
static_assert(same_call(RecurrentCalls().forward, decltype (&cudnnRNNForward)()));
static_assert(same(RecurrentAlgorithm::kStandard, CUDNN_RNN_ALGO_STANDARD));
static_assert(same(RecurrentAlgorithm::kPersistStatic, CUDNN_RNN_ALGO_PERSIST_STATIC));
static_assert(same(RecurrentAlgorithm::kPersistDynamic, CUDNN_RNN_ALGO_PERSIST_DYNAMIC));
static_assert(same(RecurrentCell::kRelu, CUDNN_RNN_RELU));
static_assert(same(RecurrentCell::kTanh, CUDNN_RNN_TANH));
static_assert(same(RecurrentCell::kLstm, CUDNN_LSTM));
static_assert(same(RecurrentCell::kGru, CUDNN_GRU));
static_assert(same(RecurrentBias::kNone, CUDNN_RNN_NO_BIAS));
static_assert(same(RecurrentBias::kDouble, CUDNN_RNN_DOUBLE_BIAS));
static_assert(same(RecurrentDirection::kOne, CUDNN_UNIDIRECTIONAL));
static_assert(same(RecurrentDirection::kBoth, CUDNN_BIDIRECTIONAL));
static_assert(same(RecurrentLayout::kTimeFirstPacked, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED));
static_assert(same(RecurrentLayout::kBatchFirst, CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED));
static_assert(same(kRecurrentLinearInput, CUDNN_LINEAR_INPUT));
static_assert(same(kRecurrentInference, CUDNN_FWD_MODE_INFERENCE));
static_assert(kRecurrentPadded == CUDNN_RNN_PADDED_IO_ENABLED);
static_assert(same(LegacyFormat::kChannelsLast, CUDNN_TENSOR_NHWC));
static_assert(same(LegacyMath::kDefault, CUDNN_DEFAULT_MATH));
static_assert(same(LegacyMath::kTensorCores, CUDNN_TENSOR_OP_MATH));
static_assert(same(LegacyMath::kFma, CUDNN_FMA_MATH));
static_assert(same(kLegacyAlgorithms, CUDNN_CONVOLUTION_FWD_ALGO_COUNT));
static_assert(same(kLegacyDataAlgorithms, CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT));
static_assert(same(kLegacyWeightsAlgorithms, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT));
static_assert(same(kLegacyImplicitPrecomputedGemm,
                   CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM));
static_assert(same(LegacyPool::kMax, CUDNN_POOLING_MAX));
static_assert(same(LegacyPool::kAverageWithPads, CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING));
static_assert(same(LegacyPool::kAverageWithoutPads, CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING));
static_assert(same(LegacyPool::kMaxDeterministic, CUDNN_POOLING_MAX_DETERMINISTIC));
static_assert(same(LegacySoftmax::kFast, CUDNN_SOFTMAX_FAST));
static_assert(same(LegacySoftmax::kAccurate, CUDNN_SOFTMAX_ACCURATE));
static_assert(same(LegacySoftmax::kLog, CUDNN_SOFTMAX_LOG));
static_assert(same(kLegacySoftmaxOverChannels, CUDNN_SOFTMAX_MODE_CHANNEL));
static_assert(same(kLegacyResponseOverChannels, CUDNN_LRN_CROSS_CHANNEL_DIM1));
static_assert(same(kLegacyBatchNormSpatial, CUDNN_BATCHNORM_SPATIAL));
static_assert(same(kLegacyPropagateNan, CUDNN_PROPAGATE_NAN));
static_assert(same(LegacyActivation::kSigmoid, CUDNN_ACTIVATION_SIGMOID));
static_assert(same(LegacyActivation::kRelu, CUDNN_ACTIVATION_RELU));
static_assert(same(LegacyActivation::kTanh, CUDNN_ACTIVATION_TANH));
static_assert(same(LegacyActivation::kClippedRelu, CUDNN_ACTIVATION_CLIPPED_RELU));
static_assert(same(LegacyActivation::kElu, CUDNN_ACTIVATION_ELU));
static_assert(same(LegacyActivation::kIdentity, CUDNN_ACTIVATION_IDENTITY));
static_assert(same(LegacyActivation::kSwish, CUDNN_ACTIVATION_SWISH));
static_assert(same(LegacyOperation::kAdd, CUDNN_OP_TENSOR_ADD));
static_assert(same(LegacyOperation::kMultiply, CUDNN_OP_TENSOR_MUL));
static_assert(same(LegacyOperation::kMin, CUDNN_OP_TENSOR_MIN));
static_assert(same(LegacyOperation::kMax, CUDNN_OP_TENSOR_MAX));

static_assert(alike(decltype(LegacyCalls::data_workspace){},
                    &cudnnGetConvolutionBackwardDataWorkspaceSize));
static_assert(alike(decltype(LegacyCalls::convolution_data){}, &cudnnConvolutionBackwardData));
static_assert(alike(decltype(LegacyCalls::weights_workspace){},
                    &cudnnGetConvolutionBackwardFilterWorkspaceSize));
static_assert(alike(decltype(LegacyCalls::convolution_weights){}, &cudnnConvolutionBackwardFilter));
static_assert(alike(decltype(LegacyCalls::convolution_bias){}, &cudnnConvolutionBackwardBias));
static_assert(alike(decltype(LegacyCalls::pool_backward){}, &cudnnPoolingBackward));
static_assert(alike(decltype(LegacyCalls::activation_backward){}, &cudnnActivationBackward));
static_assert(alike(decltype(LegacyCalls::softmax_backward){}, &cudnnSoftmaxBackward));
static_assert(alike(decltype(BlasCalls::gemv_f32){}, &cublasSgemv));
static_assert(alike(decltype(BlasCalls::gemv_f64){}, &cublasDgemv));

TEST(Abi, states_the_toolkits_numbers) {
  SUCCEED() << "compared when this file was compiled";
}

}  // namespace
}  // namespace plumb::cuda::abi
#else
TEST(Abi, states_the_toolkits_numbers) {
  GTEST_SKIP() << "the headers of CUDA and cuDNN are not here";
}
#endif
