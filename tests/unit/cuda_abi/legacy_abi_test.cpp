// SPDX-License-Identifier: Apache-2.0
// Compares what the ABI headers of cuDNN's older calls state with NVIDIA's own headers.
#include "runners/cuda/dnn/legacy_abi.hpp"

#include <gtest/gtest.h>

#include "tests/support/nvidia_required.hpp"
#include "tests/unit/cuda_abi/declared_calls.hpp"

#if __has_include(<cudnn.h>)
#include <cudnn.h>

namespace plumb::cuda::abi {

template <>
inline constexpr bool kStandsFor<CudnnCalls::Type, cudnnDataType_t> = true;
template <>
inline constexpr bool kStandsFor<CudnnCalls::ConvolutionMode, cudnnConvolutionMode_t> = true;
template <>
inline constexpr bool kStandsFor<LegacyCalls::Format, cudnnTensorFormat_t> = true;
template <>
inline constexpr bool kStandsFor<LegacyCalls::Math, cudnnMathType_t> = true;
template <>
inline constexpr bool kStandsFor<LegacyCalls::PoolMode, cudnnPoolingMode_t> = true;
template <>
inline constexpr bool kStandsFor<LegacyCalls::SoftmaxAlgorithm, cudnnSoftmaxAlgorithm_t> = true;
template <>
inline constexpr bool kStandsFor<LegacyCalls::ActivationMode, cudnnActivationMode_t> = true;
template <>
inline constexpr bool kStandsFor<LegacyCalls::Operation, cudnnOpTensorOp_t> = true;
template <>
inline constexpr bool kStandsFor<LegacyCalls::Recurrent::Algorithm, cudnnRNNAlgo_t> = true;
template <>
inline constexpr bool kStandsFor<LegacyCalls::Recurrent::Cell, cudnnRNNMode_t> = true;
template <>
inline constexpr bool kStandsFor<LegacyCalls::Recurrent::Bias, cudnnRNNBiasMode_t> = true;
template <>
inline constexpr bool kStandsFor<LegacyCalls::Recurrent::Direction, cudnnDirectionMode_t> = true;
template <>
inline constexpr bool kStandsFor<LegacyCalls::Recurrent::Layout, cudnnRNNDataLayout_t> = true;

namespace {

/// Older entry points of cuDNN as its headers declare them.
struct LegacyHeader {
  template <typename Ours>
  static constexpr bool declares(std::string_view name) {
    PLUMB_DECLARED(cudnnCreateTensorDescriptor)
    PLUMB_DECLARED(cudnnDestroyTensorDescriptor)
    PLUMB_DECLARED(cudnnSetTensorNdDescriptor)
    PLUMB_DECLARED(cudnnCreateFilterDescriptor)
    PLUMB_DECLARED(cudnnDestroyFilterDescriptor)
    PLUMB_DECLARED(cudnnSetFilterNdDescriptor)
    PLUMB_DECLARED(cudnnCreateConvolutionDescriptor)
    PLUMB_DECLARED(cudnnDestroyConvolutionDescriptor)
    PLUMB_DECLARED(cudnnSetConvolutionNdDescriptor)
    PLUMB_DECLARED(cudnnSetConvolutionGroupCount)
    PLUMB_DECLARED(cudnnSetConvolutionMathType)
    PLUMB_DECLARED(cudnnGetConvolutionNdForwardOutputDim)
    PLUMB_DECLARED(cudnnGetConvolutionForwardWorkspaceSize)
    PLUMB_DECLARED(cudnnConvolutionForward)
    PLUMB_DECLARED(cudnnConvolutionBiasActivationForward)
    PLUMB_DECLARED(cudnnCreatePoolingDescriptor)
    PLUMB_DECLARED(cudnnDestroyPoolingDescriptor)
    PLUMB_DECLARED(cudnnSetPoolingNdDescriptor)
    PLUMB_DECLARED(cudnnGetPoolingNdForwardOutputDim)
    PLUMB_DECLARED(cudnnPoolingForward)
    PLUMB_DECLARED(cudnnSoftmaxForward)
    PLUMB_DECLARED(cudnnCreateLRNDescriptor)
    PLUMB_DECLARED(cudnnDestroyLRNDescriptor)
    PLUMB_DECLARED(cudnnSetLRNDescriptor)
    PLUMB_DECLARED(cudnnLRNCrossChannelForward)
    PLUMB_DECLARED(cudnnBatchNormalizationForwardInference)
    PLUMB_DECLARED(cudnnCreateActivationDescriptor)
    PLUMB_DECLARED(cudnnDestroyActivationDescriptor)
    PLUMB_DECLARED(cudnnSetActivationDescriptor)
    PLUMB_DECLARED(cudnnActivationForward)
    PLUMB_DECLARED(cudnnCreateOpTensorDescriptor)
    PLUMB_DECLARED(cudnnDestroyOpTensorDescriptor)
    PLUMB_DECLARED(cudnnSetOpTensorDescriptor)
    PLUMB_DECLARED(cudnnOpTensor)
    PLUMB_DECLARED(cudnnGetConvolutionBackwardDataWorkspaceSize)
    PLUMB_DECLARED(cudnnConvolutionBackwardData)
    PLUMB_DECLARED(cudnnGetConvolutionBackwardFilterWorkspaceSize)
    PLUMB_DECLARED(cudnnConvolutionBackwardFilter)
    PLUMB_DECLARED(cudnnConvolutionBackwardBias)
    PLUMB_DECLARED(cudnnPoolingBackward)
    PLUMB_DECLARED(cudnnActivationBackward)
    PLUMB_DECLARED(cudnnSoftmaxBackward)
    PLUMB_DECLARED(cudnnCreateRNNDescriptor)
    PLUMB_DECLARED(cudnnDestroyRNNDescriptor)
    PLUMB_DECLARED(cudnnSetRNNDescriptor_v8)
    PLUMB_DECLARED(cudnnCreateDropoutDescriptor)
    PLUMB_DECLARED(cudnnDestroyDropoutDescriptor)
    PLUMB_DECLARED(cudnnSetDropoutDescriptor)
    PLUMB_DECLARED(cudnnCreateRNNDataDescriptor)
    PLUMB_DECLARED(cudnnDestroyRNNDataDescriptor)
    PLUMB_DECLARED(cudnnSetRNNDataDescriptor)
    PLUMB_DECLARED(cudnnBuildRNNDynamic)
    PLUMB_DECLARED(cudnnGetRNNTempSpaceSizes)
    PLUMB_DECLARED(cudnnGetRNNWeightSpaceSize)
    PLUMB_DECLARED(cudnnGetRNNWeightParams)
    PLUMB_DECLARED(cudnnRNNForward)
    return false;
  }
};

static_assert(are_declared<LegacyHeader, LegacyCalls>([](auto& calls, auto visit) {
  for_each_legacy_call(calls, visit);
}));
static_assert(are_declared<LegacyHeader, LegacyCalls::Recurrent>([](auto& calls, auto visit) {
  for_each_recurrent_call(calls, visit);
}));

static_assert(same(LegacyCalls::Format::kChannelsFirst, CUDNN_TENSOR_NCHW));
static_assert(same(LegacyCalls::Format::kChannelsLast, CUDNN_TENSOR_NHWC));
static_assert(same(LegacyCalls::Math::kDefault, CUDNN_DEFAULT_MATH));
static_assert(same(LegacyCalls::Math::kTensorCores, CUDNN_TENSOR_OP_MATH));
static_assert(same(LegacyCalls::Math::kFma, CUDNN_FMA_MATH));
static_assert(same(LegacyCalls::PoolMode::kMax, CUDNN_POOLING_MAX));
static_assert(same(LegacyCalls::PoolMode::kAverageWithPads,
                   CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING));
static_assert(same(LegacyCalls::PoolMode::kAverageWithoutPads,
                   CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING));
static_assert(same(LegacyCalls::PoolMode::kMaxDeterministic, CUDNN_POOLING_MAX_DETERMINISTIC));
static_assert(same(LegacyCalls::SoftmaxAlgorithm::kFast, CUDNN_SOFTMAX_FAST));
static_assert(same(LegacyCalls::SoftmaxAlgorithm::kAccurate, CUDNN_SOFTMAX_ACCURATE));
static_assert(same(LegacyCalls::SoftmaxAlgorithm::kLog, CUDNN_SOFTMAX_LOG));
static_assert(same(LegacyCalls::ActivationMode::kSigmoid, CUDNN_ACTIVATION_SIGMOID));
static_assert(same(LegacyCalls::ActivationMode::kRelu, CUDNN_ACTIVATION_RELU));
static_assert(same(LegacyCalls::ActivationMode::kTanh, CUDNN_ACTIVATION_TANH));
static_assert(same(LegacyCalls::ActivationMode::kClippedRelu, CUDNN_ACTIVATION_CLIPPED_RELU));
static_assert(same(LegacyCalls::ActivationMode::kElu, CUDNN_ACTIVATION_ELU));
static_assert(same(LegacyCalls::ActivationMode::kIdentity, CUDNN_ACTIVATION_IDENTITY));
static_assert(same(LegacyCalls::ActivationMode::kSwish, CUDNN_ACTIVATION_SWISH));
static_assert(same(LegacyCalls::Operation::kAdd, CUDNN_OP_TENSOR_ADD));
static_assert(same(LegacyCalls::Operation::kMultiply, CUDNN_OP_TENSOR_MUL));
static_assert(same(LegacyCalls::Operation::kMin, CUDNN_OP_TENSOR_MIN));
static_assert(same(LegacyCalls::Operation::kMax, CUDNN_OP_TENSOR_MAX));
static_assert(same(kLegacyAlgorithms, CUDNN_CONVOLUTION_FWD_ALGO_COUNT));
static_assert(same(kLegacyImplicitPrecomputedGemm,
                   CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM));
static_assert(same(kLegacyDataAlgorithms, CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT));
static_assert(same(kLegacyWeightsAlgorithms, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT));
static_assert(same(kLegacySoftmaxOverChannels, CUDNN_SOFTMAX_MODE_CHANNEL));
static_assert(same(kLegacyResponseOverChannels, CUDNN_LRN_CROSS_CHANNEL_DIM1));
static_assert(same(kLegacyBatchNormSpatial, CUDNN_BATCHNORM_SPATIAL));
static_assert(same(kLegacyPropagateNan, CUDNN_PROPAGATE_NAN));
static_assert(same(LegacyCalls::Recurrent::Algorithm::kStandard, CUDNN_RNN_ALGO_STANDARD));
static_assert(same(LegacyCalls::Recurrent::Algorithm::kPersistStatic,
                   CUDNN_RNN_ALGO_PERSIST_STATIC));
static_assert(same(LegacyCalls::Recurrent::Algorithm::kPersistDynamic,
                   CUDNN_RNN_ALGO_PERSIST_DYNAMIC));
static_assert(same(LegacyCalls::Recurrent::Cell::kRelu, CUDNN_RNN_RELU));
static_assert(same(LegacyCalls::Recurrent::Cell::kTanh, CUDNN_RNN_TANH));
static_assert(same(LegacyCalls::Recurrent::Cell::kLstm, CUDNN_LSTM));
static_assert(same(LegacyCalls::Recurrent::Cell::kGru, CUDNN_GRU));
static_assert(same(LegacyCalls::Recurrent::Bias::kNone, CUDNN_RNN_NO_BIAS));
static_assert(same(LegacyCalls::Recurrent::Bias::kDouble, CUDNN_RNN_DOUBLE_BIAS));
static_assert(same(LegacyCalls::Recurrent::Direction::kOne, CUDNN_UNIDIRECTIONAL));
static_assert(same(LegacyCalls::Recurrent::Direction::kBoth, CUDNN_BIDIRECTIONAL));
static_assert(same(LegacyCalls::Recurrent::Layout::kTimeFirstPacked,
                   CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED));
static_assert(same(LegacyCalls::Recurrent::Layout::kBatchFirst,
                   CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED));
static_assert(same(kRecurrentLinearInput, CUDNN_LINEAR_INPUT));
static_assert(same(kRecurrentInference, CUDNN_FWD_MODE_INFERENCE));
static_assert(kRecurrentPadded == CUDNN_RNN_PADDED_IO_ENABLED);

TEST(LegacyAbi, states_the_headers_numbers) {
  SUCCEED() << "compared when this file was compiled";
}

}  // namespace
}  // namespace plumb::cuda::abi
#else
TEST(LegacyAbi, states_the_headers_numbers) {
  PLUMB_WITHOUT_NVIDIA() << "the headers of cuDNN are not here";
}
#endif
