// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "runners/cuda/dnn/cudnn_abi.hpp"

/// Part of cuDNN's older interface that the worker uses: the calls that Benanza measured, one for
/// each kind of layer, and the calls for recurrent layers. Most of the former are deprecated. A
/// cuDNN that lacks one of them still serves the others.

namespace plumb::cuda::abi {

using LegacyDescriptor = void*;  ///< of a tensor, a filter, a convolution, a pool …
/// Number of algorithms of cudnnConvolutionFwdAlgo_t: 0 to 7.
inline constexpr int kLegacyAlgorithms = 8;
inline constexpr int kLegacyImplicitPrecomputedGemm = 1;
/// Numbers of algorithms of cudnnConvolutionBwdDataAlgo_t (0 to 5) and
/// cudnnConvolutionBwdFilterAlgo_t (0 to 6).
inline constexpr int kLegacyDataAlgorithms = 6;
inline constexpr int kLegacyWeightsAlgorithms = 7;
inline constexpr int kLegacySoftmaxOverChannels = 1;
inline constexpr int kLegacyResponseOverChannels = 0;
inline constexpr int kLegacyBatchNormSpatial = 1;
inline constexpr int kLegacyPropagateNan = 1;

inline constexpr int kRecurrentLinearInput = 0;
inline constexpr int kRecurrentInference = 0;
inline constexpr std::uint32_t kRecurrentPadded = 1;  ///< a flag: layouts that are not packed

/// Entry points of cuDNN's older calls. Null: this cuDNN lacks the call.
struct LegacyCalls {
  /// Values of cudnnTensorFormat_t.
  enum class Format : int { kChannelsFirst = 0, kChannelsLast = 1 };

  /// Values of cudnnMathType_t.
  enum class Math : int { kDefault = 0, kTensorCores = 1, kFma = 3 };

  /// Values of cudnnPoolingMode_t.
  enum class PoolMode : int {
    kMax = 0,
    kAverageWithPads = 1,
    kAverageWithoutPads = 2,
    kMaxDeterministic = 3,
  };

  /// Values of cudnnSoftmaxAlgorithm_t.
  enum class SoftmaxAlgorithm : int { kFast = 0, kAccurate = 1, kLog = 2 };

  /// Values of cudnnActivationMode_t.
  enum class ActivationMode : int {
    kSigmoid = 0,
    kRelu = 1,
    kTanh = 2,
    kClippedRelu = 3,
    kElu = 4,
    kIdentity = 5,
    kSwish = 6,
  };

  /// Values of cudnnOpTensorOp_t.
  enum class Operation : int { kAdd = 0, kMultiply = 1, kMin = 2, kMax = 3 };

  using Create = int (*)(LegacyDescriptor*);
  using Destroy = int (*)(LegacyDescriptor);
  using Apply = int (*)(DnnHandle,
                        LegacyDescriptor,
                        const void*,
                        LegacyDescriptor,
                        const void*,
                        const void*,
                        LegacyDescriptor,
                        void*);
  /// Call of a convolution, or of its gradient by its data or its weights.
  using Convolve = int (*)(DnnHandle,
                           const void*,
                           LegacyDescriptor,
                           const void*,
                           LegacyDescriptor,
                           const void*,
                           LegacyDescriptor,
                           int,
                           void*,
                           std::size_t,
                           const void*,
                           LegacyDescriptor,
                           void*);
  using Workspace = int (*)(DnnHandle,
                            LegacyDescriptor,
                            LegacyDescriptor,
                            LegacyDescriptor,
                            LegacyDescriptor,
                            int,
                            std::size_t*);
  /// Call of a gradient that reads what was given to a function and what came out of it.
  using ApplyBackward = int (*)(DnnHandle,
                                LegacyDescriptor,
                                const void*,
                                LegacyDescriptor,
                                const void*,
                                LegacyDescriptor,
                                const void*,
                                LegacyDescriptor,
                                const void*,
                                const void*,
                                LegacyDescriptor,
                                void*);
  Create create_tensor = nullptr;
  Destroy destroy_tensor = nullptr;
  int (*set_tensor)(LegacyDescriptor, CudnnCalls::Type, int, const int*, const int*) = nullptr;
  Create create_filter = nullptr;
  Destroy destroy_filter = nullptr;
  int (*set_filter)(LegacyDescriptor, CudnnCalls::Type, Format, int, const int*) = nullptr;
  Create create_convolution = nullptr;
  Destroy destroy_convolution = nullptr;
  int (*set_convolution)(LegacyDescriptor,
                         int,
                         const int*,
                         const int*,
                         const int*,
                         CudnnCalls::ConvolutionMode,
                         CudnnCalls::Type) = nullptr;
  int (*set_groups)(LegacyDescriptor, int) = nullptr;
  int (*set_math)(LegacyDescriptor, Math) = nullptr;
  int (*convolution_extents)(LegacyDescriptor, LegacyDescriptor, LegacyDescriptor, int, int*) =
      nullptr;
  Workspace convolution_workspace = nullptr;
  Convolve convolution = nullptr;
  int (*fused_convolution)(DnnHandle,
                           const void*,
                           LegacyDescriptor,
                           const void*,
                           LegacyDescriptor,
                           const void*,
                           LegacyDescriptor,
                           int,
                           void*,
                           std::size_t,
                           const void*,
                           LegacyDescriptor,
                           const void*,
                           LegacyDescriptor,
                           const void*,
                           LegacyDescriptor,
                           LegacyDescriptor,
                           void*) = nullptr;
  Create create_pool = nullptr;
  Destroy destroy_pool = nullptr;
  int (*set_pool)(LegacyDescriptor, PoolMode, int, int, const int*, const int*, const int*) =
      nullptr;
  int (*pool_extents)(LegacyDescriptor, LegacyDescriptor, int, int*) = nullptr;
  Apply pool = nullptr;
  int (*softmax)(DnnHandle,
                 SoftmaxAlgorithm,
                 int,
                 const void*,
                 LegacyDescriptor,
                 const void*,
                 const void*,
                 LegacyDescriptor,
                 void*) = nullptr;
  Create create_response = nullptr;
  Destroy destroy_response = nullptr;
  int (*set_response)(LegacyDescriptor, unsigned, double, double, double) = nullptr;
  int (*response)(DnnHandle,
                  LegacyDescriptor,
                  int,
                  const void*,
                  LegacyDescriptor,
                  const void*,
                  const void*,
                  LegacyDescriptor,
                  void*) = nullptr;
  int (*batch_norm)(DnnHandle,
                    int,
                    const void*,
                    const void*,
                    LegacyDescriptor,
                    const void*,
                    LegacyDescriptor,
                    void*,
                    LegacyDescriptor,
                    const void*,
                    const void*,
                    const void*,
                    const void*,
                    double) = nullptr;
  Create create_activation = nullptr;
  Destroy destroy_activation = nullptr;
  int (*set_activation)(LegacyDescriptor, ActivationMode, int, double) = nullptr;
  Apply activation = nullptr;
  Create create_operation = nullptr;
  Destroy destroy_operation = nullptr;
  int (*set_operation)(LegacyDescriptor, Operation, CudnnCalls::Type, int) = nullptr;
  int (*operation)(DnnHandle,
                   LegacyDescriptor,
                   const void*,
                   LegacyDescriptor,
                   const void*,
                   const void*,
                   LegacyDescriptor,
                   const void*,
                   const void*,
                   LegacyDescriptor,
                   void*) = nullptr;
  Workspace data_workspace = nullptr;
  Convolve convolution_data = nullptr;
  Workspace weights_workspace = nullptr;
  Convolve convolution_weights = nullptr;
  int (*convolution_bias)(DnnHandle,
                          const void*,
                          LegacyDescriptor,
                          const void*,
                          const void*,
                          LegacyDescriptor,
                          void*) = nullptr;
  ApplyBackward pool_backward = nullptr;
  ApplyBackward activation_backward = nullptr;
  int (*softmax_backward)(DnnHandle,
                          SoftmaxAlgorithm,
                          int,
                          const void*,
                          LegacyDescriptor,
                          const void*,
                          LegacyDescriptor,
                          const void*,
                          const void*,
                          LegacyDescriptor,
                          void*) = nullptr;

  /// Entry points of cuDNN for recurrent layers. Null: this cuDNN lacks the call.
  struct Recurrent {
    /// Values of cudnnRNNAlgo_t.
    enum class Algorithm : int { kStandard = 0, kPersistStatic = 1, kPersistDynamic = 2 };

    /// Values of cudnnRNNMode_t.
    enum class Cell : int { kRelu = 0, kTanh = 1, kLstm = 2, kGru = 3 };

    /// Values of cudnnRNNBiasMode_t.
    enum class Bias : int { kNone = 0, kDouble = 2 };

    /// Values of cudnnDirectionMode_t.
    enum class Direction : int { kOne = 0, kBoth = 1 };

    /// Values of cudnnRNNDataLayout_t. If all sequences are full, packed and padded data are laid
    /// out alike.
    enum class Layout : int { kTimeFirstPacked = 1, kBatchFirst = 2 };

    using Create = LegacyCalls::Create;
    using Destroy = LegacyCalls::Destroy;
    Create create = nullptr;
    Destroy destroy = nullptr;
    int (*set)(LegacyDescriptor,
               Algorithm,
               Cell,
               Bias,
               Direction,
               int input_mode,
               CudnnCalls::Type data,
               CudnnCalls::Type compute,
               LegacyCalls::Math,
               std::int32_t input,
               std::int32_t hidden,
               std::int32_t projection,
               std::int32_t layers,
               LegacyDescriptor dropout,
               std::uint32_t flags) = nullptr;
    Create create_dropout = nullptr;
    Destroy destroy_dropout = nullptr;
    int (*set_dropout)(LegacyDescriptor, DnnHandle, float, void*, std::size_t, unsigned long long) =
        nullptr;
    Create create_data = nullptr;
    Destroy destroy_data = nullptr;
    int (*set_data)(LegacyDescriptor, CudnnCalls::Type, Layout, int, int, int, const int*, void*) =
        nullptr;
    int (*build_dynamic)(DnnHandle, LegacyDescriptor, int) = nullptr;
    int (*temporary_sizes)(
        DnnHandle, LegacyDescriptor, int, LegacyDescriptor, std::size_t*, std::size_t*) = nullptr;
    int (*weight_bytes)(DnnHandle, LegacyDescriptor, std::size_t*) = nullptr;
    int (*weight_place)(DnnHandle,
                        LegacyDescriptor,
                        std::int32_t layer,
                        std::size_t,
                        const void*,
                        std::int32_t piece,
                        LegacyDescriptor,
                        void**,
                        LegacyDescriptor,
                        void**) = nullptr;
    int (*forward)(DnnHandle,
                   LegacyDescriptor,
                   int mode,
                   const std::int32_t*,
                   LegacyDescriptor,
                   const void* x,
                   LegacyDescriptor,
                   void* y,
                   LegacyDescriptor,
                   const void* hx,
                   void* hy,
                   LegacyDescriptor,
                   const void* cx,
                   void* cy,
                   std::size_t,
                   const void* weights,
                   std::size_t,
                   void* workspace,
                   std::size_t,
                   void* reserve) = nullptr;
  };
};

/// Calls `visit(member, "cudnnName")` for every entry point.
template <typename Calls, typename Visit>
constexpr void for_each_legacy_call(Calls& calls, Visit visit) {
  visit(calls.create_tensor, "cudnnCreateTensorDescriptor");
  visit(calls.destroy_tensor, "cudnnDestroyTensorDescriptor");
  visit(calls.set_tensor, "cudnnSetTensorNdDescriptor");
  visit(calls.create_filter, "cudnnCreateFilterDescriptor");
  visit(calls.destroy_filter, "cudnnDestroyFilterDescriptor");
  visit(calls.set_filter, "cudnnSetFilterNdDescriptor");
  visit(calls.create_convolution, "cudnnCreateConvolutionDescriptor");
  visit(calls.destroy_convolution, "cudnnDestroyConvolutionDescriptor");
  visit(calls.set_convolution, "cudnnSetConvolutionNdDescriptor");
  visit(calls.set_groups, "cudnnSetConvolutionGroupCount");
  visit(calls.set_math, "cudnnSetConvolutionMathType");
  visit(calls.convolution_extents, "cudnnGetConvolutionNdForwardOutputDim");
  visit(calls.convolution_workspace, "cudnnGetConvolutionForwardWorkspaceSize");
  visit(calls.convolution, "cudnnConvolutionForward");
  visit(calls.fused_convolution, "cudnnConvolutionBiasActivationForward");
  visit(calls.create_pool, "cudnnCreatePoolingDescriptor");
  visit(calls.destroy_pool, "cudnnDestroyPoolingDescriptor");
  visit(calls.set_pool, "cudnnSetPoolingNdDescriptor");
  visit(calls.pool_extents, "cudnnGetPoolingNdForwardOutputDim");
  visit(calls.pool, "cudnnPoolingForward");
  visit(calls.softmax, "cudnnSoftmaxForward");
  visit(calls.create_response, "cudnnCreateLRNDescriptor");
  visit(calls.destroy_response, "cudnnDestroyLRNDescriptor");
  visit(calls.set_response, "cudnnSetLRNDescriptor");
  visit(calls.response, "cudnnLRNCrossChannelForward");
  visit(calls.batch_norm, "cudnnBatchNormalizationForwardInference");
  visit(calls.create_activation, "cudnnCreateActivationDescriptor");
  visit(calls.destroy_activation, "cudnnDestroyActivationDescriptor");
  visit(calls.set_activation, "cudnnSetActivationDescriptor");
  visit(calls.activation, "cudnnActivationForward");
  visit(calls.create_operation, "cudnnCreateOpTensorDescriptor");
  visit(calls.destroy_operation, "cudnnDestroyOpTensorDescriptor");
  visit(calls.set_operation, "cudnnSetOpTensorDescriptor");
  visit(calls.operation, "cudnnOpTensor");
  visit(calls.data_workspace, "cudnnGetConvolutionBackwardDataWorkspaceSize");
  visit(calls.convolution_data, "cudnnConvolutionBackwardData");
  visit(calls.weights_workspace, "cudnnGetConvolutionBackwardFilterWorkspaceSize");
  visit(calls.convolution_weights, "cudnnConvolutionBackwardFilter");
  visit(calls.convolution_bias, "cudnnConvolutionBackwardBias");
  visit(calls.pool_backward, "cudnnPoolingBackward");
  visit(calls.activation_backward, "cudnnActivationBackward");
  visit(calls.softmax_backward, "cudnnSoftmaxBackward");
}

/// Calls `visit(member, "cudnnName")` for every entry point.
template <typename Calls, typename Visit>
constexpr void for_each_recurrent_call(Calls& calls, Visit visit) {
  visit(calls.create, "cudnnCreateRNNDescriptor");
  visit(calls.destroy, "cudnnDestroyRNNDescriptor");
  visit(calls.set, "cudnnSetRNNDescriptor_v8");
  visit(calls.create_dropout, "cudnnCreateDropoutDescriptor");
  visit(calls.destroy_dropout, "cudnnDestroyDropoutDescriptor");
  visit(calls.set_dropout, "cudnnSetDropoutDescriptor");
  visit(calls.create_data, "cudnnCreateRNNDataDescriptor");
  visit(calls.destroy_data, "cudnnDestroyRNNDataDescriptor");
  visit(calls.set_data, "cudnnSetRNNDataDescriptor");
  visit(calls.build_dynamic, "cudnnBuildRNNDynamic");
  visit(calls.temporary_sizes, "cudnnGetRNNTempSpaceSizes");
  visit(calls.weight_bytes, "cudnnGetRNNWeightSpaceSize");
  visit(calls.weight_place, "cudnnGetRNNWeightParams");
  visit(calls.forward, "cudnnRNNForward");
}

}  // namespace plumb::cuda::abi
