// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// Part of cuDNN 9's binary interface that the worker uses: numbers of enumerators and signatures.
/// They are named as in the documentation of its graph API, and stable from 9.x to every later 9.y
/// (docs/adr/0005-the-cuda-worker-loads-cudnn-by-name.md).

namespace plumb::cuda::abi {

using Descriptor = void*;  ///< cudnnBackendDescriptor_t
using DnnHandle = void*;   ///< cudnnHandle_t

inline constexpr int kSuccess = 0;
inline constexpr int kSublibraryVersionMismatch = 1002;
inline constexpr int kSublibraryLoadingFailed = 1008;

using GetVersion = std::size_t (*)();

/// Entry points of cuDNN's handles and of its graph interface, found by name by CudnnLibrary.
struct CudnnCalls {
  /// Values of cudnnDataType_t.
  enum class Type : int {
    kFloat = 0,
    kHalf = 2,
    kInt8 = 3,
    kInt32 = 4,
    kBfloat16 = 9,
    kBoolean = 11,
  };

  /// Values of cudnnConvolutionMode_t. ONNX's convolution does not flip the filter.
  enum class ConvolutionMode : int { kCrossCorrelation = 1 };

  /// Values of cudnnResampleMode_t.
  enum class ResampleMode : int { kAverageWithPads = 2, kMax = 3, kAverageWithoutPads = 4 };

  /// Values of cudnnPaddingMode_t.
  enum class PaddingMode : int { kZero = 0, kNegativeInfinity = 1 };

  /// Values of cudnnBackendNormMode_t.
  enum class NormMode : int { kLayer = 0, kBatch = 2 };

  /// Values of cudnnBackendNormFwdPhase_t.
  enum class NormPhase : int { kInference = 0 };

  /// Values of cudnnPointwiseMode_t.
  enum class PointwiseMode : int {
    kAdd = 0,
    kMultiply = 1,
    kDivide = 6,
    kSubtract = 9,
    kExp = 13,
    kLog = 15,
    kIdentity = 21,
    kRelu = 100,
    kTanh = 101,
    kSigmoid = 102,
    kElu = 103,
    kGelu = 104,
    kSoftplus = 105,
    kSwish = 106,
    kGeluTanh = 107,
    kGreaterEqual = 303,
    kIndex = 501,  // the position along an axis
    kSelect = 601,
  };

  /// Values of cudnnReduceTensorOp_t.
  enum class Reduction : int { kAdd = 0, kMax = 3 };

  /// Values of cudnnBackendDescriptorType_t.
  enum class DescriptorType : int {
    kPointwise = 0,
    kConvolution = 1,
    kEngine = 2,
    kEngineConfiguration = 3,
    kEngineHeuristic = 4,
    kExecutionPlan = 5,
    kKnobChoice = 7,
    kConvolutionForward = 10,
    kConvolutionBackwardWeights = 11,
    kConvolutionBackwardData = 12,
    kPointwiseOperation = 13,
    kOperationGraph = 15,
    kVariantPack = 16,
    kTensor = 17,
    kMatmul = 18,
    kMatmulOperation = 19,
    kReduction = 21,
    kReductionOperation = 22,
    kResample = 24,
    kResampleForward = 25,
    kNormForward = 29,
    kNormBackward = 30,
    kReshapeOperation = 31,
    kDeviceProperties = 38,  // since 9.8
  };

  /// Values of cudnnBackendAttributeType_t.
  enum class ValueType : int {
    kHandle = 0,
    kDataType = 1,
    kBoolean = 2,
    kInt64 = 3,
    kFloat = 4,
    kDouble = 5,
    kVoidPointer = 6,
    kConvolutionMode = 7,
    kHeuristicMode = 8,
    kKnobType = 9,
    kNumericalNote = 11,
    kPointwiseMode = 14,
    kDescriptor = 15,
    kReduction = 18,
    kBehaviourNote = 19,
    kResampleMode = 21,
    kPaddingMode = 22,
    kInt32 = 23,
    kChar = 24,
    kNormMode = 27,
    kNormPhase = 28,
  };

  /// Values of cudnnBackendAttributeName_t.
  enum class Attribute : int {
    kPointwiseMode = 0,
    kPointwiseComputeType = 1,
    kPointwiseReluLowerClip = 3,
    kPointwiseReluUpperClip = 4,
    kPointwiseReluLowerClipSlope = 5,
    kPointwiseEluAlpha = 6,
    kPointwiseAxis = 9,
    kConvolutionComputeType = 100,
    kConvolutionMode = 101,
    kConvolutionDilations = 102,
    kConvolutionStrides = 103,
    kConvolutionPostPaddings = 104,
    kConvolutionPrePaddings = 105,
    kConvolutionSpatialDimensions = 106,
    kHeuristicMode = 200,
    kHeuristicOperationGraph = 201,
    kHeuristicResults = 202,
    kHeuristicDevice = 204,
    kConfigurationEngine = 300,
    kConfigurationKnobChoices = 302,
    kConfigurationWorkspace = 303,
    kConfigurationSharedMemory = 304,
    kPlanHandle = 400,
    kPlanConfiguration = 401,
    kPlanWorkspace = 402,
    kPlanJson = 405,
    kPlanDevice = 407,
    kKnobChoiceType = 600,
    kKnobChoiceValue = 601,
    kForwardAlpha = 700,
    kForwardBeta = 701,
    kForwardConvolution = 702,
    kForwardWeights = 703,
    kForwardInput = 704,
    kForwardOutput = 705,
    kBackwardDataAlpha = 706,
    kBackwardDataBeta = 707,
    kBackwardDataConvolution = 708,
    kBackwardDataWeights = 709,
    kBackwardDataInputGradient = 710,
    kBackwardDataOutputGradient = 711,
    kBackwardWeightsAlpha = 712,
    kBackwardWeightsBeta = 713,
    kBackwardWeightsConvolution = 714,
    kBackwardWeightsGradient = 715,
    kBackwardWeightsInput = 716,
    kBackwardWeightsOutputGradient = 717,
    kStepPointwise = 750,
    kStepInput = 751,
    kStepOperand = 752,
    kStepOutput = 753,
    kStepCondition = 758,
    kGraphHandle = 800,
    kGraphOperations = 801,
    kGraphEngineCount = 802,
    kTensorAlignment = 900,
    kTensorDataType = 901,
    kTensorDimensions = 902,
    kTensorStrides = 903,
    kTensorId = 906,
    kTensorIsVirtual = 907,
    kTensorIsByValue = 908,
    kPackIds = 1000,
    kPackPointers = 1001,
    kPackWorkspace = 1003,
    kEngineOperationGraph = 1300,
    kEngineIndex = 1301,
    kEngineNumericalNotes = 1303,
    kEngineBehaviourNotes = 1305,
    kEngineDevice = 1307,
    kMatmulComputeType = 1500,
    kMatmulLeft = 1520,
    kMatmulRight = 1521,
    kMatmulOutput = 1522,
    kMatmulDescription = 1523,
    kReductionOperator = 1600,
    kReductionComputeType = 1601,
    kReductionInput = 1610,
    kReductionOutput = 1611,
    kReductionDescription = 1612,
    kResampleMode = 1700,
    kResampleComputeType = 1701,
    kResampleSpatialDimensions = 1702,
    kResamplePostPaddings = 1703,
    kResamplePrePaddings = 1704,
    kResampleStrides = 1705,
    kResampleWindow = 1706,
    kResamplePaddingMode = 1708,
    kResampleInput = 1710,
    kResampleOutput = 1711,
    kResampleDescription = 1716,
    kNormMode = 2000,
    kNormPhase = 2001,
    kNormInput = 2002,
    kNormScale = 2005,
    kNormBias = 2006,
    kNormEpsilon = 2007,
    kNormOutput = 2013,
    kNormGradientMode = 2100,
    kNormGradientInput = 2101,
    kNormGradientMean = 2102,
    kNormGradientInverseDeviation = 2103,
    kNormGradientOutputGradient = 2104,
    kNormGradientScale = 2105,
    kNormGradientScaleGradient = 2107,
    kNormGradientBiasGradient = 2108,
    kNormGradientInputGradient = 2109,
    kReshapeInput = 2200,
    kReshapeOutput = 2201,
    kDeviceJson = 2702,
  };

  /// Values of cudnnBackendHeurMode_t.
  enum class HeuristicMode : int { kB = 1, kFallback = 2, kA = 3 };

  GetVersion version = nullptr;
  GetVersion cudart_version = nullptr;
  const char* (*error_string)(int) = nullptr;
  void (*last_error_string)(char*, std::size_t) = nullptr;
  int (*create_handle)(DnnHandle*) = nullptr;
  int (*destroy_handle)(DnnHandle) = nullptr;
  int (*set_stream)(DnnHandle, void* stream) = nullptr;
  int (*execute)(DnnHandle, Descriptor plan, Descriptor pack) = nullptr;
  int (*create_descriptor)(DescriptorType, Descriptor*) = nullptr;
  int (*destroy_descriptor)(Descriptor) = nullptr;
  int (*finalize)(Descriptor) = nullptr;
  int (*set_attribute)(Descriptor, Attribute, ValueType, std::int64_t, const void*) = nullptr;
  int (*get_attribute)(Descriptor, Attribute, ValueType, std::int64_t, std::int64_t*, void*) =
      nullptr;
};

/// Calls `visit(member, "cudnnName")` for every entry point.
template <typename Calls, typename Visit>
constexpr void for_each_cudnn_call(Calls& calls, Visit visit) {
  visit(calls.version, "cudnnGetVersion");
  visit(calls.cudart_version, "cudnnGetCudartVersion");
  visit(calls.error_string, "cudnnGetErrorString");
  visit(calls.last_error_string, "cudnnGetLastErrorString");
  visit(calls.create_handle, "cudnnCreate");
  visit(calls.destroy_handle, "cudnnDestroy");
  visit(calls.set_stream, "cudnnSetStream");
  visit(calls.execute, "cudnnBackendExecute");
  visit(calls.create_descriptor, "cudnnBackendCreateDescriptor");
  visit(calls.destroy_descriptor, "cudnnBackendDestroyDescriptor");
  visit(calls.finalize, "cudnnBackendFinalize");
  visit(calls.set_attribute, "cudnnBackendSetAttribute");
  visit(calls.get_attribute, "cudnnBackendGetAttribute");
}

}  // namespace plumb::cuda::abi
