// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "runners/cuda/dnn/legacy_abi.hpp"

/// Part of cuDNN's interface for recurrent layers that the worker uses, as its documentation names
/// it.
namespace plumb::cuda::abi {

/// Values of cudnnRNNAlgo_t.
enum class RecurrentAlgorithm : int { kStandard = 0, kPersistStatic = 1, kPersistDynamic = 2 };
/// Values of cudnnRNNMode_t.
enum class RecurrentCell : int { kRelu = 0, kTanh = 1, kLstm = 2, kGru = 3 };
/// Values of cudnnRNNBiasMode_t.
enum class RecurrentBias : int { kNone = 0, kDouble = 2 };
/// Values of cudnnDirectionMode_t.
enum class RecurrentDirection : int { kOne = 0, kBoth = 1 };
/// Values of cudnnRNNDataLayout_t. If all sequences are full, packed and padded data are laid out
/// alike.
enum class RecurrentLayout : int { kTimeFirstPacked = 1, kBatchFirst = 2 };
inline constexpr int kRecurrentLinearInput = 0;
inline constexpr int kRecurrentInference = 0;
inline constexpr std::uint32_t kRecurrentPadded = 1;  ///< a flag: layouts that are not packed

/// Entry points of cuDNN for recurrent layers. Null: this cuDNN lacks the call.
struct RecurrentCalls {
  using Create = LegacyCalls::Create;
  using Destroy = LegacyCalls::Destroy;
  Create create = nullptr;
  Destroy destroy = nullptr;
  int (*set)(LegacyDescriptor,
             RecurrentAlgorithm,
             RecurrentCell,
             RecurrentBias,
             RecurrentDirection,
             int input_mode,
             Type data,
             Type compute,
             LegacyMath,
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
  int (*set_data)(LegacyDescriptor, Type, RecurrentLayout, int, int, int, const int*, void*) =
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
