// SPDX-License-Identifier: Apache-2.0
// Compares what the ABI header of cuDNN's graph interface states with NVIDIA's own headers.
#include "runners/cuda/dnn/cudnn_abi.hpp"

#include <gtest/gtest.h>

#include "tests/support/nvidia_required.hpp"
#include "tests/unit/cuda_abi/declared_calls.hpp"

#if __has_include(<cudnn.h>)
#include <cudnn.h>

namespace plumb::cuda::abi {

using Attribute = CudnnCalls::Attribute;
using DescriptorType = CudnnCalls::DescriptorType;
using HeuristicMode = CudnnCalls::HeuristicMode;
using Reduction = CudnnCalls::Reduction;
using ValueType = CudnnCalls::ValueType;

template <>
inline constexpr bool kStandsFor<DescriptorType, cudnnBackendDescriptorType_t> = true;
template <>
inline constexpr bool kStandsFor<ValueType, cudnnBackendAttributeType_t> = true;
template <>
inline constexpr bool kStandsFor<Attribute, cudnnBackendAttributeName_t> = true;

namespace {

/// Entry points of cuDNN as its headers declare them.
struct CudnnHeader {
  template <typename Ours>
  static constexpr bool declares(std::string_view name) {
    PLUMB_DECLARED(cudnnGetVersion)
    PLUMB_DECLARED(cudnnGetCudartVersion)
    PLUMB_DECLARED(cudnnGetErrorString)
    PLUMB_DECLARED(cudnnGetLastErrorString)
    PLUMB_DECLARED(cudnnCreate)
    PLUMB_DECLARED(cudnnDestroy)
    PLUMB_DECLARED(cudnnSetStream)
    PLUMB_DECLARED(cudnnBackendExecute)
    PLUMB_DECLARED(cudnnBackendCreateDescriptor)
    PLUMB_DECLARED(cudnnBackendDestroyDescriptor)
    PLUMB_DECLARED(cudnnBackendFinalize)
    PLUMB_DECLARED(cudnnBackendSetAttribute)
    PLUMB_DECLARED(cudnnBackendGetAttribute)
    return false;
  }
};

static_assert(are_declared<CudnnHeader, CudnnCalls>([](auto& calls, auto visit) {
  for_each_cudnn_call(calls, visit);
}));

static_assert(same(DescriptorType::kPointwise, CUDNN_BACKEND_POINTWISE_DESCRIPTOR));
static_assert(same(DescriptorType::kConvolution, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR));
static_assert(same(DescriptorType::kEngine, CUDNN_BACKEND_ENGINE_DESCRIPTOR));
static_assert(same(DescriptorType::kEngineConfiguration, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
static_assert(same(DescriptorType::kEngineHeuristic, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR));
static_assert(same(DescriptorType::kExecutionPlan, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR));
static_assert(same(DescriptorType::kKnobChoice, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR));
static_assert(same(DescriptorType::kConvolutionForward,
                   CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR));
static_assert(same(DescriptorType::kConvolutionBackwardWeights,
                   CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR));
static_assert(same(DescriptorType::kConvolutionBackwardData,
                   CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR));
static_assert(same(DescriptorType::kPointwiseOperation,
                   CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR));
static_assert(same(DescriptorType::kOperationGraph, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR));
static_assert(same(DescriptorType::kVariantPack, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR));
static_assert(same(DescriptorType::kTensor, CUDNN_BACKEND_TENSOR_DESCRIPTOR));
static_assert(same(DescriptorType::kMatmul, CUDNN_BACKEND_MATMUL_DESCRIPTOR));
static_assert(same(DescriptorType::kMatmulOperation, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR));
static_assert(same(DescriptorType::kReduction, CUDNN_BACKEND_REDUCTION_DESCRIPTOR));
static_assert(same(DescriptorType::kReductionOperation,
                   CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR));
static_assert(same(DescriptorType::kResample, CUDNN_BACKEND_RESAMPLE_DESCRIPTOR));
static_assert(same(DescriptorType::kResampleForward,
                   CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR));
static_assert(same(DescriptorType::kNormForward, CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR));
static_assert(same(DescriptorType::kNormBackward,
                   CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR));
static_assert(same(DescriptorType::kReshapeOperation, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR));
static_assert(same(DescriptorType::kDeviceProperties, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR));
static_assert(same(ValueType::kHandle, CUDNN_TYPE_HANDLE));
static_assert(same(ValueType::kDataType, CUDNN_TYPE_DATA_TYPE));
static_assert(same(ValueType::kBoolean, CUDNN_TYPE_BOOLEAN));
static_assert(same(ValueType::kInt64, CUDNN_TYPE_INT64));
static_assert(same(ValueType::kFloat, CUDNN_TYPE_FLOAT));
static_assert(same(ValueType::kDouble, CUDNN_TYPE_DOUBLE));
static_assert(same(ValueType::kVoidPointer, CUDNN_TYPE_VOID_PTR));
static_assert(same(ValueType::kConvolutionMode, CUDNN_TYPE_CONVOLUTION_MODE));
static_assert(same(ValueType::kHeuristicMode, CUDNN_TYPE_HEUR_MODE));
static_assert(same(ValueType::kKnobType, CUDNN_TYPE_KNOB_TYPE));
static_assert(same(ValueType::kNumericalNote, CUDNN_TYPE_NUMERICAL_NOTE));
static_assert(same(ValueType::kPointwiseMode, CUDNN_TYPE_POINTWISE_MODE));
static_assert(same(ValueType::kDescriptor, CUDNN_TYPE_BACKEND_DESCRIPTOR));
static_assert(same(ValueType::kReduction, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE));
static_assert(same(ValueType::kBehaviourNote, CUDNN_TYPE_BEHAVIOR_NOTE));
static_assert(same(ValueType::kResampleMode, CUDNN_TYPE_RESAMPLE_MODE));
static_assert(same(ValueType::kPaddingMode, CUDNN_TYPE_PADDING_MODE));
static_assert(same(ValueType::kInt32, CUDNN_TYPE_INT32));
static_assert(same(ValueType::kChar, CUDNN_TYPE_CHAR));
static_assert(same(ValueType::kNormMode, CUDNN_TYPE_NORM_MODE));
static_assert(same(ValueType::kNormPhase, CUDNN_TYPE_NORM_FWD_PHASE));
static_assert(same(Attribute::kPointwiseMode, CUDNN_ATTR_POINTWISE_MODE));
static_assert(same(Attribute::kPointwiseComputeType, CUDNN_ATTR_POINTWISE_MATH_PREC));
static_assert(same(Attribute::kPointwiseReluLowerClip, CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP));
static_assert(same(Attribute::kPointwiseReluUpperClip, CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP));
static_assert(same(Attribute::kPointwiseReluLowerClipSlope,
                   CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE));
static_assert(same(Attribute::kPointwiseEluAlpha, CUDNN_ATTR_POINTWISE_ELU_ALPHA));
static_assert(same(Attribute::kPointwiseAxis, CUDNN_ATTR_POINTWISE_AXIS));
static_assert(same(Attribute::kConvolutionComputeType, CUDNN_ATTR_CONVOLUTION_COMP_TYPE));
static_assert(same(Attribute::kConvolutionMode, CUDNN_ATTR_CONVOLUTION_CONV_MODE));
static_assert(same(Attribute::kConvolutionDilations, CUDNN_ATTR_CONVOLUTION_DILATIONS));
static_assert(same(Attribute::kConvolutionStrides, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES));
static_assert(same(Attribute::kConvolutionPostPaddings, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS));
static_assert(same(Attribute::kConvolutionPrePaddings, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS));
static_assert(same(Attribute::kConvolutionSpatialDimensions, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS));
static_assert(same(Attribute::kHeuristicMode, CUDNN_ATTR_ENGINEHEUR_MODE));
static_assert(same(Attribute::kHeuristicOperationGraph, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH));
static_assert(same(Attribute::kHeuristicResults, CUDNN_ATTR_ENGINEHEUR_RESULTS));
static_assert(same(Attribute::kHeuristicDevice, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP));
static_assert(same(Attribute::kConfigurationEngine, CUDNN_ATTR_ENGINECFG_ENGINE));
static_assert(same(Attribute::kConfigurationKnobChoices, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES));
static_assert(same(Attribute::kConfigurationWorkspace, CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE));
static_assert(same(Attribute::kConfigurationSharedMemory, CUDNN_ATTR_ENGINECFG_SHARED_MEMORY_USED));
static_assert(same(Attribute::kPlanHandle, CUDNN_ATTR_EXECUTION_PLAN_HANDLE));
static_assert(same(Attribute::kPlanConfiguration, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG));
static_assert(same(Attribute::kPlanWorkspace, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE));
static_assert(same(Attribute::kPlanJson, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION));
static_assert(same(Attribute::kPlanDevice, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP));
static_assert(same(Attribute::kKnobChoiceType, CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE));
static_assert(same(Attribute::kKnobChoiceValue, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE));
static_assert(same(Attribute::kForwardAlpha, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA));
static_assert(same(Attribute::kForwardBeta, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA));
static_assert(same(Attribute::kForwardConvolution,
                   CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC));
static_assert(same(Attribute::kForwardWeights, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W));
static_assert(same(Attribute::kForwardInput, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X));
static_assert(same(Attribute::kForwardOutput, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y));
static_assert(same(Attribute::kBackwardDataAlpha, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA));
static_assert(same(Attribute::kBackwardDataBeta, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA));
static_assert(same(Attribute::kBackwardDataConvolution,
                   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC));
static_assert(same(Attribute::kBackwardDataWeights, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W));
static_assert(same(Attribute::kBackwardDataInputGradient,
                   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX));
static_assert(same(Attribute::kBackwardDataOutputGradient,
                   CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY));
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
static_assert(same(Attribute::kStepPointwise, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR));
static_assert(same(Attribute::kStepInput, CUDNN_ATTR_OPERATION_POINTWISE_XDESC));
static_assert(same(Attribute::kStepOperand, CUDNN_ATTR_OPERATION_POINTWISE_BDESC));
static_assert(same(Attribute::kStepOutput, CUDNN_ATTR_OPERATION_POINTWISE_YDESC));
static_assert(same(Attribute::kStepCondition, CUDNN_ATTR_OPERATION_POINTWISE_TDESC));
static_assert(same(Attribute::kGraphHandle, CUDNN_ATTR_OPERATIONGRAPH_HANDLE));
static_assert(same(Attribute::kGraphOperations, CUDNN_ATTR_OPERATIONGRAPH_OPS));
static_assert(same(Attribute::kGraphEngineCount, CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT));
static_assert(same(Attribute::kTensorAlignment, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT));
static_assert(same(Attribute::kTensorDataType, CUDNN_ATTR_TENSOR_DATA_TYPE));
static_assert(same(Attribute::kTensorDimensions, CUDNN_ATTR_TENSOR_DIMENSIONS));
static_assert(same(Attribute::kTensorStrides, CUDNN_ATTR_TENSOR_STRIDES));
static_assert(same(Attribute::kTensorId, CUDNN_ATTR_TENSOR_UNIQUE_ID));
static_assert(same(Attribute::kTensorIsVirtual, CUDNN_ATTR_TENSOR_IS_VIRTUAL));
static_assert(same(Attribute::kTensorIsByValue, CUDNN_ATTR_TENSOR_IS_BY_VALUE));
static_assert(same(Attribute::kPackIds, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS));
static_assert(same(Attribute::kPackPointers, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS));
static_assert(same(Attribute::kPackWorkspace, CUDNN_ATTR_VARIANT_PACK_WORKSPACE));
static_assert(same(Attribute::kEngineOperationGraph, CUDNN_ATTR_ENGINE_OPERATION_GRAPH));
static_assert(same(Attribute::kEngineIndex, CUDNN_ATTR_ENGINE_GLOBAL_INDEX));
static_assert(same(Attribute::kEngineNumericalNotes, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE));
static_assert(same(Attribute::kEngineBehaviourNotes, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE));
static_assert(same(Attribute::kEngineDevice, CUDNN_ATTR_ENGINE_DEVICEPROP));
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
static_assert(same(Attribute::kResampleMode, CUDNN_ATTR_RESAMPLE_MODE));
static_assert(same(Attribute::kResampleComputeType, CUDNN_ATTR_RESAMPLE_COMP_TYPE));
static_assert(same(Attribute::kResampleSpatialDimensions, CUDNN_ATTR_RESAMPLE_SPATIAL_DIMS));
static_assert(same(Attribute::kResamplePostPaddings, CUDNN_ATTR_RESAMPLE_POST_PADDINGS));
static_assert(same(Attribute::kResamplePrePaddings, CUDNN_ATTR_RESAMPLE_PRE_PADDINGS));
static_assert(same(Attribute::kResampleStrides, CUDNN_ATTR_RESAMPLE_STRIDES));
static_assert(same(Attribute::kResampleWindow, CUDNN_ATTR_RESAMPLE_WINDOW_DIMS));
static_assert(same(Attribute::kResamplePaddingMode, CUDNN_ATTR_RESAMPLE_PADDING_MODE));
static_assert(same(Attribute::kResampleInput, CUDNN_ATTR_OPERATION_RESAMPLE_FWD_XDESC));
static_assert(same(Attribute::kResampleOutput, CUDNN_ATTR_OPERATION_RESAMPLE_FWD_YDESC));
static_assert(same(Attribute::kResampleDescription, CUDNN_ATTR_OPERATION_RESAMPLE_FWD_DESC));
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
static_assert(same(Attribute::kReshapeInput, CUDNN_ATTR_OPERATION_RESHAPE_XDESC));
static_assert(same(Attribute::kReshapeOutput, CUDNN_ATTR_OPERATION_RESHAPE_YDESC));
static_assert(same(Attribute::kDeviceJson, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION));
static_assert(same(CudnnCalls::Type::kFloat, CUDNN_DATA_FLOAT));
static_assert(same(CudnnCalls::Type::kHalf, CUDNN_DATA_HALF));
static_assert(same(CudnnCalls::Type::kInt8, CUDNN_DATA_INT8));
static_assert(same(CudnnCalls::Type::kInt32, CUDNN_DATA_INT32));
static_assert(same(CudnnCalls::Type::kBfloat16, CUDNN_DATA_BFLOAT16));
static_assert(same(CudnnCalls::Type::kBoolean, CUDNN_DATA_BOOLEAN));
static_assert(same(CudnnCalls::ConvolutionMode::kCrossCorrelation, CUDNN_CROSS_CORRELATION));
static_assert(same(HeuristicMode::kB, CUDNN_HEUR_MODE_B));
static_assert(same(HeuristicMode::kFallback, CUDNN_HEUR_MODE_FALLBACK));
static_assert(same(HeuristicMode::kA, CUDNN_HEUR_MODE_A));
static_assert(same(Reduction::kAdd, CUDNN_REDUCE_TENSOR_ADD));
static_assert(same(Reduction::kMax, CUDNN_REDUCE_TENSOR_MAX));
static_assert(same(CudnnCalls::ResampleMode::kAverageWithPads,
                   CUDNN_RESAMPLE_AVGPOOL_INCLUDE_PADDING));
static_assert(same(CudnnCalls::ResampleMode::kMax, CUDNN_RESAMPLE_MAXPOOL));
static_assert(same(CudnnCalls::ResampleMode::kAverageWithoutPads,
                   CUDNN_RESAMPLE_AVGPOOL_EXCLUDE_PADDING));
static_assert(same(CudnnCalls::PaddingMode::kZero, CUDNN_ZERO_PAD));
static_assert(same(CudnnCalls::PaddingMode::kNegativeInfinity, CUDNN_NEG_INF_PAD));
static_assert(same(CudnnCalls::NormMode::kLayer, CUDNN_LAYER_NORM));
static_assert(same(CudnnCalls::NormMode::kBatch, CUDNN_BATCH_NORM));
static_assert(same(CudnnCalls::NormPhase::kInference, CUDNN_NORM_FWD_INFERENCE));
static_assert(same(CudnnCalls::PointwiseMode::kAdd, CUDNN_POINTWISE_ADD));
static_assert(same(CudnnCalls::PointwiseMode::kMultiply, CUDNN_POINTWISE_MUL));
static_assert(same(CudnnCalls::PointwiseMode::kDivide, CUDNN_POINTWISE_DIV));
static_assert(same(CudnnCalls::PointwiseMode::kSubtract, CUDNN_POINTWISE_SUB));
static_assert(same(CudnnCalls::PointwiseMode::kExp, CUDNN_POINTWISE_EXP));
static_assert(same(CudnnCalls::PointwiseMode::kLog, CUDNN_POINTWISE_LOG));
static_assert(same(CudnnCalls::PointwiseMode::kIdentity, CUDNN_POINTWISE_IDENTITY));
static_assert(same(CudnnCalls::PointwiseMode::kRelu, CUDNN_POINTWISE_RELU_FWD));
static_assert(same(CudnnCalls::PointwiseMode::kTanh, CUDNN_POINTWISE_TANH_FWD));
static_assert(same(CudnnCalls::PointwiseMode::kSigmoid, CUDNN_POINTWISE_SIGMOID_FWD));
static_assert(same(CudnnCalls::PointwiseMode::kElu, CUDNN_POINTWISE_ELU_FWD));
static_assert(same(CudnnCalls::PointwiseMode::kGelu, CUDNN_POINTWISE_GELU_FWD));
static_assert(same(CudnnCalls::PointwiseMode::kSoftplus, CUDNN_POINTWISE_SOFTPLUS_FWD));
static_assert(same(CudnnCalls::PointwiseMode::kSwish, CUDNN_POINTWISE_SWISH_FWD));
static_assert(same(CudnnCalls::PointwiseMode::kGeluTanh, CUDNN_POINTWISE_GELU_APPROX_TANH_FWD));
static_assert(same(CudnnCalls::PointwiseMode::kGreaterEqual, CUDNN_POINTWISE_CMP_GE));
static_assert(same(CudnnCalls::PointwiseMode::kIndex, CUDNN_POINTWISE_GEN_INDEX));
static_assert(same(CudnnCalls::PointwiseMode::kSelect, CUDNN_POINTWISE_BINARY_SELECT));
static_assert(same(kSuccess, CUDNN_STATUS_SUCCESS));
static_assert(same(kSublibraryVersionMismatch, CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH));
static_assert(same(kSublibraryLoadingFailed, CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED));

TEST(CudnnAbi, states_the_headers_numbers) {
  SUCCEED() << "compared when this file was compiled";
}

}  // namespace
}  // namespace plumb::cuda::abi
#else
TEST(CudnnAbi, states_the_headers_numbers) {
  PLUMB_WITHOUT_NVIDIA() << "the headers of cuDNN are not here";
}
#endif
