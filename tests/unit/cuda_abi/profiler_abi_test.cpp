// SPDX-License-Identifier: Apache-2.0
// Compares the numbers stated in our headers of CUPTI's interface with its own, where they are.
#include "runners/cuda/observe/profiler_abi.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

#include "tests/support/nvidia_required.hpp"
#include "tests/unit/cuda_abi/declared_calls.hpp"

#if __has_include(<cupti.h>)
#include <cupti.h>
#include <cupti_activity_deprecated.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

namespace plumb::cuda::abi {

template <>
inline constexpr bool
    kStandsFor<ProfilerCalls::Ranges::ProfilerParams, CUpti_Profiler_Initialize_Params> = true;
template <>
inline constexpr bool
    kStandsFor<ProfilerCalls::Ranges::ProfilerParams, CUpti_Profiler_DeInitialize_Params> = true;
template <>
inline constexpr bool
    kStandsFor<ProfilerCalls::Ranges::ChipNameParams, CUpti_Device_GetChipName_Params> = true;
template <>
inline constexpr bool kStandsFor<ProfilerCalls::Ranges::AvailabilityParams,
                                 CUpti_Profiler_GetCounterAvailability_Params> = true;
template <>
inline constexpr bool
    kStandsFor<ProfilerCalls::Ranges::Host::BeginParams, CUpti_Profiler_Host_Initialize_Params> =
        true;
template <>
inline constexpr bool
    kStandsFor<ProfilerCalls::Ranges::Host::EndParams, CUpti_Profiler_Host_Deinitialize_Params> =
        true;
template <>
inline constexpr bool kStandsFor<ProfilerCalls::Ranges::Host::MetricsParams,
                                 CUpti_Profiler_Host_ConfigAddMetrics_Params> = true;
template <>
inline constexpr bool kStandsFor<ProfilerCalls::Ranges::Host::ImageSizeParams,
                                 CUpti_Profiler_Host_GetConfigImageSize_Params> = true;
template <>
inline constexpr bool kStandsFor<ProfilerCalls::Ranges::Host::ImageParams,
                                 CUpti_Profiler_Host_GetConfigImage_Params> = true;
template <>
inline constexpr bool kStandsFor<ProfilerCalls::Ranges::Host::PassesParams,
                                 CUpti_Profiler_Host_GetNumOfPasses_Params> = true;
template <>
inline constexpr bool kStandsFor<ProfilerCalls::Ranges::Host::ValuesParams,
                                 CUpti_Profiler_Host_EvaluateToGpuValues_Params> = true;
template <>
inline constexpr bool
    kStandsFor<ProfilerCalls::Ranges::BeginParams, CUpti_RangeProfiler_Enable_Params> = true;
template <>
inline constexpr bool
    kStandsFor<ProfilerCalls::Ranges::Params, CUpti_RangeProfiler_Disable_Params> = true;
template <>
inline constexpr bool kStandsFor<ProfilerCalls::Ranges::Params, CUpti_RangeProfiler_Start_Params> =
    true;
template <>
inline constexpr bool
    kStandsFor<ProfilerCalls::Ranges::Params, CUpti_RangeProfiler_PopRange_Params> = true;
template <>
inline constexpr bool
    kStandsFor<ProfilerCalls::Ranges::StopParams, CUpti_RangeProfiler_Stop_Params> = true;
template <>
inline constexpr bool
    kStandsFor<ProfilerCalls::Ranges::PushParams, CUpti_RangeProfiler_PushRange_Params> = true;
template <>
inline constexpr bool
    kStandsFor<ProfilerCalls::Ranges::DecodeParams, CUpti_RangeProfiler_DecodeData_Params> = true;
template <>
inline constexpr bool kStandsFor<ProfilerCalls::Ranges::DataSizeParams,
                                 CUpti_RangeProfiler_GetCounterDataSize_Params> = true;
template <>
inline constexpr bool kStandsFor<ProfilerCalls::Ranges::DataParams,
                                 CUpti_RangeProfiler_CounterDataImage_Initialize_Params> = true;
template <>
inline constexpr bool
    kStandsFor<ProfilerCalls::Ranges::SetParams, CUpti_RangeProfiler_SetConfig_Params> = true;
template <>
inline constexpr bool
    kStandsFor<ProfilerCalls::Ranges::CountParams, CUpti_RangeProfiler_GetCounterDataInfo_Params> =
        true;

namespace {

/// Entry points of CUPTI as its headers declare them.
struct ProfilerHeader {
  template <typename Ours>
  static constexpr bool declares(std::string_view name) {
    PLUMB_DECLARED(cuptiActivityRegisterCallbacks)
    PLUMB_DECLARED(cuptiActivityEnable)
    PLUMB_DECLARED(cuptiActivityDisable)
    PLUMB_DECLARED(cuptiActivityFlushAll)
    PLUMB_DECLARED(cuptiActivityGetNextRecord)
    PLUMB_DECLARED(cuptiActivityGetNumDroppedRecords)
    PLUMB_DECLARED(cuptiGetVersion)
    PLUMB_DECLARED(cuptiGetResultString)
    PLUMB_DECLARED(cuptiProfilerHostInitialize)
    PLUMB_DECLARED(cuptiProfilerHostDeinitialize)
    PLUMB_DECLARED(cuptiProfilerHostConfigAddMetrics)
    PLUMB_DECLARED(cuptiProfilerHostGetConfigImageSize)
    PLUMB_DECLARED(cuptiProfilerHostGetConfigImage)
    PLUMB_DECLARED(cuptiProfilerHostGetNumOfPasses)
    PLUMB_DECLARED(cuptiProfilerHostEvaluateToGpuValues)
    PLUMB_DECLARED(cuptiProfilerInitialize)
    PLUMB_DECLARED(cuptiProfilerDeInitialize)
    PLUMB_DECLARED(cuptiDeviceGetChipName)
    PLUMB_DECLARED(cuptiProfilerGetCounterAvailability)
    PLUMB_DECLARED(cuptiRangeProfilerEnable)
    PLUMB_DECLARED(cuptiRangeProfilerDisable)
    PLUMB_DECLARED(cuptiRangeProfilerGetCounterDataSize)
    PLUMB_DECLARED(cuptiRangeProfilerCounterDataImageInitialize)
    PLUMB_DECLARED(cuptiRangeProfilerSetConfig)
    PLUMB_DECLARED(cuptiRangeProfilerStart)
    PLUMB_DECLARED(cuptiRangeProfilerStop)
    PLUMB_DECLARED(cuptiRangeProfilerPushRange)
    PLUMB_DECLARED(cuptiRangeProfilerPopRange)
    PLUMB_DECLARED(cuptiRangeProfilerDecodeData)
    PLUMB_DECLARED(cuptiRangeProfilerGetCounterDataInfo)
    return false;
  }
};

static_assert(are_declared<ProfilerHeader, ProfilerCalls>([](auto& calls, auto visit) {
  for_each_profiler_call(calls, visit);
}));
static_assert(are_declared<ProfilerHeader, ProfilerCalls::Texts>([](auto& calls, auto visit) {
  for_each_profiler_text_call(calls, visit);
}));
static_assert(are_declared<ProfilerHeader, ProfilerCalls::Ranges::Host>(
    [](auto& calls, auto visit) { for_each_metric_host_call(calls, visit); }));
static_assert(are_declared<ProfilerHeader, ProfilerCalls::Ranges>([](auto& calls, auto visit) {
  for_each_range_profiler_call(calls, visit);
}));

static_assert(static_cast<int>(CUPTI_SUCCESS) == kProfilerSuccess);
static_assert(static_cast<int>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == kConcurrentKernel);
static_assert(static_cast<std::uint32_t>(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) == kFlushForced);

template <typename Record>
consteval bool lies_as_stated() {
  using Layout = ProfilerCalls::RecordLayout;
  return offsetof(Record, kind) == Layout::kKind && sizeof(Record::kind) == sizeof(int) &&
         offsetof(Record, registersPerThread) == Layout::kRegisters &&
         sizeof(Record::registersPerThread) == 2 && offsetof(Record, start) == Layout::kStart &&
         offsetof(Record, end) == Layout::kEnd && offsetof(Record, streamId) == Layout::kStream &&
         offsetof(Record, gridX) == Layout::kGrid && offsetof(Record, gridZ) == Layout::kGrid + 8 &&
         offsetof(Record, blockX) == Layout::kBlock &&
         offsetof(Record, blockZ) == Layout::kBlock + 8 &&
         offsetof(Record, staticSharedMemory) == Layout::kStaticShared &&
         offsetof(Record, dynamicSharedMemory) == Layout::kDynamicShared &&
         offsetof(Record, name) == Layout::kName && sizeof(Record) >= Layout::kFront;
}

static_assert(lies_as_stated<CUpti_ActivityKernel5>());
static_assert(lies_as_stated<CUpti_ActivityKernel9>());
static_assert(lies_as_stated<CUpti_ActivityKernel10>());

static_assert(kInvalidMetricName == static_cast<int>(CUPTI_ERROR_INVALID_METRIC_NAME));
static_assert(kInsufficientPrivileges == static_cast<int>(CUPTI_ERROR_INSUFFICIENT_PRIVILEGES));
static_assert(kOtherSubscriber == static_cast<int>(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED));
static_assert(kVirtualizedPrivileges ==
              static_cast<int>(CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES));
static_assert(kConfidentialComputing ==
              static_cast<int>(CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED));
static_assert(kPartitionedGpu == static_cast<int>(CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED));
static_assert(kRangeProfiler == static_cast<int>(CUPTI_PROFILER_TYPE_RANGE_PROFILER));
static_assert(kUserRange == static_cast<int>(CUPTI_UserRange));
static_assert(kUserReplay == static_cast<int>(CUPTI_UserReplay));

/// Tells whether a structure of ours is the toolkit's: as large, with as many bytes announced, or,
/// where later ones have grown at their end, its front.
template <typename Ours, typename Theirs>
consteval bool is_sized_as(std::size_t announced) {
  constexpr bool kMayBeLonger = CUPTI_API_VERSION > 130001;
  const bool same = sizeof(Ours) == sizeof(Theirs) && Ours::kBytes == announced;
  const bool front = sizeof(Ours) <= sizeof(Theirs) && Ours::kBytes <= announced;
  return (kMayBeLonger ? front : same) && offsetof(Theirs, structSize) == offsetof(Ours, bytes) &&
         offsetof(Theirs, pPriv) == offsetof(Ours, reserved);
}

static_assert(is_sized_as<ProfilerCalls::Ranges::ProfilerParams, CUpti_Profiler_Initialize_Params>(
    CUpti_Profiler_Initialize_Params_STRUCT_SIZE));
static_assert(
    is_sized_as<ProfilerCalls::Ranges::ProfilerParams, CUpti_Profiler_DeInitialize_Params>(
        CUpti_Profiler_DeInitialize_Params_STRUCT_SIZE));
static_assert(is_sized_as<ProfilerCalls::Ranges::ChipNameParams, CUpti_Device_GetChipName_Params>(
    CUpti_Device_GetChipName_Params_STRUCT_SIZE));
static_assert(offsetof(ProfilerCalls::Ranges::ChipNameParams, device) ==
              offsetof(CUpti_Device_GetChipName_Params, deviceIndex));
static_assert(offsetof(ProfilerCalls::Ranges::ChipNameParams, name) ==
              offsetof(CUpti_Device_GetChipName_Params, pChipName));
static_assert(is_sized_as<ProfilerCalls::Ranges::AvailabilityParams,
                          CUpti_Profiler_GetCounterAvailability_Params>(
    CUpti_Profiler_GetCounterAvailability_Params_STRUCT_SIZE));
static_assert(offsetof(ProfilerCalls::Ranges::AvailabilityParams, context) ==
              offsetof(CUpti_Profiler_GetCounterAvailability_Params, ctx));
static_assert(offsetof(ProfilerCalls::Ranges::AvailabilityParams, image_bytes) ==
              offsetof(CUpti_Profiler_GetCounterAvailability_Params, counterAvailabilityImageSize));
static_assert(offsetof(ProfilerCalls::Ranges::AvailabilityParams, image) ==
              offsetof(CUpti_Profiler_GetCounterAvailability_Params, pCounterAvailabilityImage));
static_assert(
    is_sized_as<ProfilerCalls::Ranges::Host::BeginParams, CUpti_Profiler_Host_Initialize_Params>(
        CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE));
static_assert(offsetof(ProfilerCalls::Ranges::Host::BeginParams, profiler) ==
              offsetof(CUpti_Profiler_Host_Initialize_Params, profilerType));
static_assert(offsetof(ProfilerCalls::Ranges::Host::BeginParams, chip) ==
              offsetof(CUpti_Profiler_Host_Initialize_Params, pChipName));
static_assert(offsetof(ProfilerCalls::Ranges::Host::BeginParams, availability) ==
              offsetof(CUpti_Profiler_Host_Initialize_Params, pCounterAvailabilityImage));
static_assert(offsetof(ProfilerCalls::Ranges::Host::BeginParams, host) ==
              offsetof(CUpti_Profiler_Host_Initialize_Params, pHostObject));
static_assert(
    is_sized_as<ProfilerCalls::Ranges::Host::EndParams, CUpti_Profiler_Host_Deinitialize_Params>(
        CUpti_Profiler_Host_Deinitialize_Params_STRUCT_SIZE));
static_assert(offsetof(ProfilerCalls::Ranges::Host::EndParams, host) ==
              offsetof(CUpti_Profiler_Host_Deinitialize_Params, pHostObject));
static_assert(is_sized_as<ProfilerCalls::Ranges::Host::MetricsParams,
                          CUpti_Profiler_Host_ConfigAddMetrics_Params>(
    CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE));
static_assert(offsetof(ProfilerCalls::Ranges::Host::MetricsParams, host) ==
              offsetof(CUpti_Profiler_Host_ConfigAddMetrics_Params, pHostObject));
static_assert(offsetof(ProfilerCalls::Ranges::Host::MetricsParams, names) ==
              offsetof(CUpti_Profiler_Host_ConfigAddMetrics_Params, ppMetricNames));
static_assert(offsetof(ProfilerCalls::Ranges::Host::MetricsParams, count) ==
              offsetof(CUpti_Profiler_Host_ConfigAddMetrics_Params, numMetrics));
static_assert(is_sized_as<ProfilerCalls::Ranges::Host::ImageSizeParams,
                          CUpti_Profiler_Host_GetConfigImageSize_Params>(
    CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE));
static_assert(offsetof(ProfilerCalls::Ranges::Host::ImageSizeParams, host) ==
              offsetof(CUpti_Profiler_Host_GetConfigImageSize_Params, pHostObject));
static_assert(offsetof(ProfilerCalls::Ranges::Host::ImageSizeParams, image_bytes) ==
              offsetof(CUpti_Profiler_Host_GetConfigImageSize_Params, configImageSize));
static_assert(is_sized_as<ProfilerCalls::Ranges::Host::ImageParams,
                          CUpti_Profiler_Host_GetConfigImage_Params>(
    CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE));
static_assert(offsetof(ProfilerCalls::Ranges::Host::ImageParams, host) ==
              offsetof(CUpti_Profiler_Host_GetConfigImage_Params, pHostObject));
static_assert(offsetof(ProfilerCalls::Ranges::Host::ImageParams, image_bytes) ==
              offsetof(CUpti_Profiler_Host_GetConfigImage_Params, configImageSize));
static_assert(offsetof(ProfilerCalls::Ranges::Host::ImageParams, image) ==
              offsetof(CUpti_Profiler_Host_GetConfigImage_Params, pConfigImage));
static_assert(is_sized_as<ProfilerCalls::Ranges::Host::PassesParams,
                          CUpti_Profiler_Host_GetNumOfPasses_Params>(
    CUpti_Profiler_Host_GetNumOfPasses_Params_STRUCT_SIZE));
static_assert(offsetof(ProfilerCalls::Ranges::Host::PassesParams, image_bytes) ==
              offsetof(CUpti_Profiler_Host_GetNumOfPasses_Params, configImageSize));
static_assert(offsetof(ProfilerCalls::Ranges::Host::PassesParams, image) ==
              offsetof(CUpti_Profiler_Host_GetNumOfPasses_Params, pConfigImage));
static_assert(offsetof(ProfilerCalls::Ranges::Host::PassesParams, passes) ==
              offsetof(CUpti_Profiler_Host_GetNumOfPasses_Params, numOfPasses));
static_assert(is_sized_as<ProfilerCalls::Ranges::Host::ValuesParams,
                          CUpti_Profiler_Host_EvaluateToGpuValues_Params>(
    CUpti_Profiler_Host_EvaluateToGpuValues_Params_STRUCT_SIZE));
static_assert(offsetof(ProfilerCalls::Ranges::Host::ValuesParams, host) ==
              offsetof(CUpti_Profiler_Host_EvaluateToGpuValues_Params, pHostObject));
static_assert(offsetof(ProfilerCalls::Ranges::Host::ValuesParams, data) ==
              offsetof(CUpti_Profiler_Host_EvaluateToGpuValues_Params, pCounterDataImage));
static_assert(offsetof(ProfilerCalls::Ranges::Host::ValuesParams, data_bytes) ==
              offsetof(CUpti_Profiler_Host_EvaluateToGpuValues_Params, counterDataImageSize));
static_assert(offsetof(ProfilerCalls::Ranges::Host::ValuesParams, range) ==
              offsetof(CUpti_Profiler_Host_EvaluateToGpuValues_Params, rangeIndex));
static_assert(offsetof(ProfilerCalls::Ranges::Host::ValuesParams, names) ==
              offsetof(CUpti_Profiler_Host_EvaluateToGpuValues_Params, ppMetricNames));
static_assert(offsetof(ProfilerCalls::Ranges::Host::ValuesParams, count) ==
              offsetof(CUpti_Profiler_Host_EvaluateToGpuValues_Params, numMetrics));
static_assert(offsetof(ProfilerCalls::Ranges::Host::ValuesParams, values) ==
              offsetof(CUpti_Profiler_Host_EvaluateToGpuValues_Params, pMetricValues));
static_assert(is_sized_as<ProfilerCalls::Ranges::BeginParams, CUpti_RangeProfiler_Enable_Params>(
    CUpti_RangeProfiler_Enable_Params_STRUCT_SIZE));
static_assert(offsetof(ProfilerCalls::Ranges::BeginParams, context) ==
              offsetof(CUpti_RangeProfiler_Enable_Params, ctx));
static_assert(offsetof(ProfilerCalls::Ranges::BeginParams, profiler) ==
              offsetof(CUpti_RangeProfiler_Enable_Params, pRangeProfilerObject));
static_assert(is_sized_as<ProfilerCalls::Ranges::Params, CUpti_RangeProfiler_Disable_Params>(
    CUpti_RangeProfiler_Disable_Params_STRUCT_SIZE));
static_assert(offsetof(ProfilerCalls::Ranges::Params, profiler) ==
              offsetof(CUpti_RangeProfiler_Disable_Params, pRangeProfilerObject));
static_assert(is_sized_as<ProfilerCalls::Ranges::Params, CUpti_RangeProfiler_Start_Params>(
    CUpti_RangeProfiler_Start_Params_STRUCT_SIZE));
static_assert(offsetof(ProfilerCalls::Ranges::Params, profiler) ==
              offsetof(CUpti_RangeProfiler_Start_Params, pRangeProfilerObject));
static_assert(is_sized_as<ProfilerCalls::Ranges::Params, CUpti_RangeProfiler_PopRange_Params>(
    CUpti_RangeProfiler_PopRange_Params_STRUCT_SIZE));
static_assert(offsetof(ProfilerCalls::Ranges::Params, profiler) ==
              offsetof(CUpti_RangeProfiler_PopRange_Params, pRangeProfilerObject));
static_assert(is_sized_as<ProfilerCalls::Ranges::StopParams, CUpti_RangeProfiler_Stop_Params>(
    CUpti_RangeProfiler_Stop_Params_STRUCT_SIZE));
static_assert(offsetof(ProfilerCalls::Ranges::StopParams, profiler) ==
              offsetof(CUpti_RangeProfiler_Stop_Params, pRangeProfilerObject));
static_assert(offsetof(ProfilerCalls::Ranges::StopParams, pass) ==
              offsetof(CUpti_RangeProfiler_Stop_Params, passIndex));
static_assert(offsetof(ProfilerCalls::Ranges::StopParams, level) ==
              offsetof(CUpti_RangeProfiler_Stop_Params, targetNestingLevel));
static_assert(offsetof(ProfilerCalls::Ranges::StopParams, all_passes) ==
              offsetof(CUpti_RangeProfiler_Stop_Params, isAllPassSubmitted));
static_assert(is_sized_as<ProfilerCalls::Ranges::PushParams, CUpti_RangeProfiler_PushRange_Params>(
    CUpti_RangeProfiler_PushRange_Params_STRUCT_SIZE));
static_assert(offsetof(ProfilerCalls::Ranges::PushParams, profiler) ==
              offsetof(CUpti_RangeProfiler_PushRange_Params, pRangeProfilerObject));
static_assert(offsetof(ProfilerCalls::Ranges::PushParams, name) ==
              offsetof(CUpti_RangeProfiler_PushRange_Params, pRangeName));
static_assert(
    is_sized_as<ProfilerCalls::Ranges::DecodeParams, CUpti_RangeProfiler_DecodeData_Params>(
        CUpti_RangeProfiler_DecodeData_Params_STRUCT_SIZE));
static_assert(offsetof(ProfilerCalls::Ranges::DecodeParams, profiler) ==
              offsetof(CUpti_RangeProfiler_DecodeData_Params, pRangeProfilerObject));
static_assert(offsetof(ProfilerCalls::Ranges::DecodeParams, dropped) ==
              offsetof(CUpti_RangeProfiler_DecodeData_Params, numOfRangeDropped));
static_assert(is_sized_as<ProfilerCalls::Ranges::DataSizeParams,
                          CUpti_RangeProfiler_GetCounterDataSize_Params>(
    CUpti_RangeProfiler_GetCounterDataSize_Params_STRUCT_SIZE));
static_assert(offsetof(ProfilerCalls::Ranges::DataSizeParams, profiler) ==
              offsetof(CUpti_RangeProfiler_GetCounterDataSize_Params, pRangeProfilerObject));
static_assert(offsetof(ProfilerCalls::Ranges::DataSizeParams, names) ==
              offsetof(CUpti_RangeProfiler_GetCounterDataSize_Params, pMetricNames));
static_assert(offsetof(ProfilerCalls::Ranges::DataSizeParams, count) ==
              offsetof(CUpti_RangeProfiler_GetCounterDataSize_Params, numMetrics));
static_assert(offsetof(ProfilerCalls::Ranges::DataSizeParams, ranges) ==
              offsetof(CUpti_RangeProfiler_GetCounterDataSize_Params, maxNumOfRanges));
static_assert(offsetof(ProfilerCalls::Ranges::DataSizeParams, nodes) ==
              offsetof(CUpti_RangeProfiler_GetCounterDataSize_Params, maxNumRangeTreeNodes));
static_assert(offsetof(ProfilerCalls::Ranges::DataSizeParams, data_bytes) ==
              offsetof(CUpti_RangeProfiler_GetCounterDataSize_Params, counterDataSize));
static_assert(is_sized_as<ProfilerCalls::Ranges::DataParams,
                          CUpti_RangeProfiler_CounterDataImage_Initialize_Params>(
    CUpti_RangeProfiler_CounterDataImage_Initialize_Params_STRUCT_SIZE));
static_assert(offsetof(ProfilerCalls::Ranges::DataParams, profiler) ==
              offsetof(CUpti_RangeProfiler_CounterDataImage_Initialize_Params,
                       pRangeProfilerObject));
static_assert(offsetof(ProfilerCalls::Ranges::DataParams, data_bytes) ==
              offsetof(CUpti_RangeProfiler_CounterDataImage_Initialize_Params, counterDataSize));
static_assert(offsetof(ProfilerCalls::Ranges::DataParams, data) ==
              offsetof(CUpti_RangeProfiler_CounterDataImage_Initialize_Params, pCounterData));
static_assert(is_sized_as<ProfilerCalls::Ranges::SetParams, CUpti_RangeProfiler_SetConfig_Params>(
    CUpti_RangeProfiler_SetConfig_Params_STRUCT_SIZE));
static_assert(offsetof(ProfilerCalls::Ranges::SetParams, profiler) ==
              offsetof(CUpti_RangeProfiler_SetConfig_Params, pRangeProfilerObject));
static_assert(offsetof(ProfilerCalls::Ranges::SetParams, image_bytes) ==
              offsetof(CUpti_RangeProfiler_SetConfig_Params, configSize));
static_assert(offsetof(ProfilerCalls::Ranges::SetParams, image) ==
              offsetof(CUpti_RangeProfiler_SetConfig_Params, pConfig));
static_assert(offsetof(ProfilerCalls::Ranges::SetParams, data_bytes) ==
              offsetof(CUpti_RangeProfiler_SetConfig_Params, counterDataImageSize));
static_assert(offsetof(ProfilerCalls::Ranges::SetParams, data) ==
              offsetof(CUpti_RangeProfiler_SetConfig_Params, pCounterDataImage));
static_assert(offsetof(ProfilerCalls::Ranges::SetParams, range) ==
              offsetof(CUpti_RangeProfiler_SetConfig_Params, range));
static_assert(offsetof(ProfilerCalls::Ranges::SetParams, replay) ==
              offsetof(CUpti_RangeProfiler_SetConfig_Params, replayMode));
static_assert(offsetof(ProfilerCalls::Ranges::SetParams, ranges) ==
              offsetof(CUpti_RangeProfiler_SetConfig_Params, maxRangesPerPass));
static_assert(offsetof(ProfilerCalls::Ranges::SetParams, levels) ==
              offsetof(CUpti_RangeProfiler_SetConfig_Params, numNestingLevels));
static_assert(offsetof(ProfilerCalls::Ranges::SetParams, first_level) ==
              offsetof(CUpti_RangeProfiler_SetConfig_Params, minNestingLevel));
static_assert(offsetof(ProfilerCalls::Ranges::SetParams, pass) ==
              offsetof(CUpti_RangeProfiler_SetConfig_Params, passIndex));
static_assert(offsetof(ProfilerCalls::Ranges::SetParams, level) ==
              offsetof(CUpti_RangeProfiler_SetConfig_Params, targetNestingLevel));
static_assert(
    is_sized_as<ProfilerCalls::Ranges::CountParams, CUpti_RangeProfiler_GetCounterDataInfo_Params>(
        CUpti_RangeProfiler_GetCounterDataInfo_Params_STRUCT_SIZE));
static_assert(offsetof(ProfilerCalls::Ranges::CountParams, data) ==
              offsetof(CUpti_RangeProfiler_GetCounterDataInfo_Params, pCounterDataImage));
static_assert(offsetof(ProfilerCalls::Ranges::CountParams, data_bytes) ==
              offsetof(CUpti_RangeProfiler_GetCounterDataInfo_Params, counterDataImageSize));
static_assert(offsetof(ProfilerCalls::Ranges::CountParams, ranges) ==
              offsetof(CUpti_RangeProfiler_GetCounterDataInfo_Params, numTotalRanges));

TEST(ProfilerAbi, states_the_toolkits_numbers) {
  SUCCEED() << "compared when this file was compiled";
}

}  // namespace
}  // namespace plumb::cuda::abi
#else
TEST(ProfilerAbi, states_the_toolkits_numbers) {
  PLUMB_WITHOUT_NVIDIA() << "the headers of CUPTI are not here";
}
#endif
