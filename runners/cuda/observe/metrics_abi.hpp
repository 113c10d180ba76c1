// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// Part of CUPTI's interface to hardware counters that the worker uses, as its headers document it
/// (12.6 to 13). Each call is told how many bytes its structure has. `kBytes` is that number: up to
/// the last field's end, which is not the structure's size.
namespace plumb::cuda::abi {

inline constexpr int kInvalidMetricName = 17;       // CUPTI_ERROR_INVALID_METRIC_NAME
inline constexpr int kInsufficientPrivileges = 35;  // CUPTI_ERROR_INSUFFICIENT_PRIVILEGES
inline constexpr int kOtherSubscriber = 39;         // …_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
inline constexpr int kVirtualizedPrivileges = 40;  // …_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES
inline constexpr int kConfidentialComputing = 41;  // …_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED
inline constexpr int kPartitionedGpu = 43;         // …_MIG_DEVICE_NOT_SUPPORTED
inline constexpr int kRangeProfiler = 0;           // CUPTI_PROFILER_TYPE_RANGE_PROFILER
inline constexpr int kUserRange = 2;               // CUPTI_UserRange
inline constexpr int kUserReplay = 3;              // CUPTI_UserReplay
inline constexpr std::uint16_t kOneNestingLevel = 1;

struct ProfilerParams {  // CUpti_Profiler_Initialize_Params, …_DeInitialize_Params
  static constexpr std::size_t kBytes = 16;
  std::size_t bytes = kBytes;
  void* reserved = nullptr;
};

struct ChipNameParams {  // CUpti_Device_GetChipName_Params
  static constexpr std::size_t kBytes = 32;
  std::size_t bytes = kBytes;
  void* reserved = nullptr;
  std::size_t device = 0;
  const char* name = nullptr;
};

struct AvailabilityParams {  // CUpti_Profiler_GetCounterAvailability_Params
  static constexpr std::size_t kBytes = 40;
  std::size_t bytes = kBytes;
  void* reserved = nullptr;
  void* context = nullptr;
  std::size_t image_bytes = 0;
  std::uint8_t* image = nullptr;
};

struct HostBeginParams {  // CUpti_Profiler_Host_Initialize_Params
  static constexpr std::size_t kBytes = 48;
  std::size_t bytes = kBytes;
  void* reserved = nullptr;
  int profiler = kRangeProfiler;
  const char* chip = nullptr;
  const std::uint8_t* availability = nullptr;
  void* host = nullptr;
};

struct HostEndParams {  // CUpti_Profiler_Host_Deinitialize_Params
  static constexpr std::size_t kBytes = 24;
  std::size_t bytes = kBytes;
  void* reserved = nullptr;
  void* host = nullptr;
};

struct HostMetricsParams {  // CUpti_Profiler_Host_ConfigAddMetrics_Params
  static constexpr std::size_t kBytes = 40;
  std::size_t bytes = kBytes;
  void* reserved = nullptr;
  void* host = nullptr;
  const char** names = nullptr;
  std::size_t count = 0;
};

struct HostImageSizeParams {  // CUpti_Profiler_Host_GetConfigImageSize_Params
  static constexpr std::size_t kBytes = 32;
  std::size_t bytes = kBytes;
  void* reserved = nullptr;
  void* host = nullptr;
  std::size_t image_bytes = 0;
};

struct HostImageParams {  // CUpti_Profiler_Host_GetConfigImage_Params
  static constexpr std::size_t kBytes = 40;
  std::size_t bytes = kBytes;
  void* reserved = nullptr;
  void* host = nullptr;
  std::size_t image_bytes = 0;
  std::uint8_t* image = nullptr;
};

struct HostPassesParams {  // CUpti_Profiler_Host_GetNumOfPasses_Params
  static constexpr std::size_t kBytes = 40;
  std::size_t bytes = kBytes;
  void* reserved = nullptr;
  std::size_t image_bytes = 0;
  std::uint8_t* image = nullptr;
  std::size_t passes = 0;
};

struct HostValuesParams {  // CUpti_Profiler_Host_EvaluateToGpuValues_Params
  static constexpr std::size_t kBytes = 72;
  std::size_t bytes = kBytes;
  void* reserved = nullptr;
  void* host = nullptr;
  const std::uint8_t* data = nullptr;
  std::size_t data_bytes = 0;
  std::size_t range = 0;
  const char** names = nullptr;
  std::size_t count = 0;
  double* values = nullptr;
};

struct RangeBeginParams {  // CUpti_RangeProfiler_Enable_Params
  static constexpr std::size_t kBytes = 32;
  std::size_t bytes = kBytes;
  void* reserved = nullptr;
  void* context = nullptr;
  void* profiler = nullptr;
};

struct RangeParams {  // CUpti_RangeProfiler_Disable_Params, …_Start_Params, …_PopRange_Params
  static constexpr std::size_t kBytes = 24;
  std::size_t bytes = kBytes;
  void* reserved = nullptr;
  void* profiler = nullptr;
};

struct RangeStopParams {  // CUpti_RangeProfiler_Stop_Params
  static constexpr std::size_t kBytes = 41;
  std::size_t bytes = kBytes;
  void* reserved = nullptr;
  void* profiler = nullptr;
  std::size_t pass = 0;
  std::size_t level = 0;
  std::uint8_t all_passes = 0;
};

struct RangePushParams {  // CUpti_RangeProfiler_PushRange_Params
  static constexpr std::size_t kBytes = 32;
  std::size_t bytes = kBytes;
  void* reserved = nullptr;
  void* profiler = nullptr;
  const char* name = nullptr;
};

struct RangeDecodeParams {  // CUpti_RangeProfiler_DecodeData_Params
  static constexpr std::size_t kBytes = 32;
  std::size_t bytes = kBytes;
  void* reserved = nullptr;
  void* profiler = nullptr;
  std::size_t dropped = 0;
};

struct RangeDataSizeParams {  // CUpti_RangeProfiler_GetCounterDataSize_Params
  static constexpr std::size_t kBytes = 64;
  std::size_t bytes = kBytes;
  void* reserved = nullptr;
  void* profiler = nullptr;
  const char** names = nullptr;
  std::size_t count = 0;
  std::size_t ranges = 0;
  std::uint32_t nodes = 0;
  std::size_t data_bytes = 0;
};

struct RangeDataParams {  // CUpti_RangeProfiler_CounterDataImage_Initialize_Params
  static constexpr std::size_t kBytes = 40;
  std::size_t bytes = kBytes;
  void* reserved = nullptr;
  void* profiler = nullptr;
  std::size_t data_bytes = 0;
  std::uint8_t* data = nullptr;
};

struct RangeSetParams {  // CUpti_RangeProfiler_SetConfig_Params
  static constexpr std::size_t kBytes = 90;
  std::size_t bytes = kBytes;
  void* reserved = nullptr;
  void* profiler = nullptr;
  std::size_t image_bytes = 0;
  const std::uint8_t* image = nullptr;
  std::size_t data_bytes = 0;
  std::uint8_t* data = nullptr;
  int range = kUserRange;
  int replay = kUserReplay;
  std::size_t ranges = 0;
  std::uint16_t levels = kOneNestingLevel;
  std::uint16_t first_level = kOneNestingLevel;
  std::size_t pass = 0;
  std::uint16_t level = kOneNestingLevel;
};

struct RangeCountParams {  // CUpti_RangeProfiler_GetCounterDataInfo_Params
  static constexpr std::size_t kBytes = 40;
  std::size_t bytes = kBytes;
  void* reserved = nullptr;
  const std::uint8_t* data = nullptr;
  std::size_t data_bytes = 0;
  std::size_t ranges = 0;
};

/// Entry points that need no GPU, found by name.
struct MetricHostCalls {
  int (*begin)(HostBeginParams*) = nullptr;
  int (*end)(HostEndParams*) = nullptr;
  int (*add_metrics)(HostMetricsParams*) = nullptr;
  int (*image_size)(HostImageSizeParams*) = nullptr;
  int (*image)(HostImageParams*) = nullptr;
  int (*passes)(HostPassesParams*) = nullptr;
  int (*values)(HostValuesParams*) = nullptr;
};

/// Calls `visit(member, "cuptiName")` for every entry point.
template <typename Calls, typename Visit>
constexpr void for_each_metric_host_call(Calls& calls, Visit visit) {
  visit(calls.begin, "cuptiProfilerHostInitialize");
  visit(calls.end, "cuptiProfilerHostDeinitialize");
  visit(calls.add_metrics, "cuptiProfilerHostConfigAddMetrics");
  visit(calls.image_size, "cuptiProfilerHostGetConfigImageSize");
  visit(calls.image, "cuptiProfilerHostGetConfigImage");
  visit(calls.passes, "cuptiProfilerHostGetNumOfPasses");
  visit(calls.values, "cuptiProfilerHostEvaluateToGpuValues");
}

/// Entry points that read a GPU's counters. Without a driver, all but `initialize` crash the
/// process with a bad address (CUPTI 13.0).
struct RangeProfilerCalls {
  int (*initialize)(ProfilerParams*) = nullptr;
  int (*finish)(ProfilerParams*) = nullptr;
  int (*chip_name)(ChipNameParams*) = nullptr;
  int (*availability)(AvailabilityParams*) = nullptr;
  int (*begin)(RangeBeginParams*) = nullptr;
  int (*end)(RangeParams*) = nullptr;
  int (*data_size)(RangeDataSizeParams*) = nullptr;
  int (*data)(RangeDataParams*) = nullptr;
  int (*set)(RangeSetParams*) = nullptr;
  int (*start)(RangeParams*) = nullptr;
  int (*stop)(RangeStopParams*) = nullptr;
  int (*push)(RangePushParams*) = nullptr;
  int (*pop)(RangeParams*) = nullptr;
  int (*decode)(RangeDecodeParams*) = nullptr;
  int (*count)(RangeCountParams*) = nullptr;
};

/// Calls `visit(member, "cuptiName")` for every entry point.
template <typename Calls, typename Visit>
constexpr void for_each_range_profiler_call(Calls& calls, Visit visit) {
  visit(calls.initialize, "cuptiProfilerInitialize");
  visit(calls.finish, "cuptiProfilerDeInitialize");
  visit(calls.chip_name, "cuptiDeviceGetChipName");
  visit(calls.availability, "cuptiProfilerGetCounterAvailability");
  visit(calls.begin, "cuptiRangeProfilerEnable");
  visit(calls.end, "cuptiRangeProfilerDisable");
  visit(calls.data_size, "cuptiRangeProfilerGetCounterDataSize");
  visit(calls.data, "cuptiRangeProfilerCounterDataImageInitialize");
  visit(calls.set, "cuptiRangeProfilerSetConfig");
  visit(calls.start, "cuptiRangeProfilerStart");
  visit(calls.stop, "cuptiRangeProfilerStop");
  visit(calls.push, "cuptiRangeProfilerPushRange");
  visit(calls.pop, "cuptiRangeProfilerPopRange");
  visit(calls.decode, "cuptiRangeProfilerDecodeData");
  visit(calls.count, "cuptiRangeProfilerGetCounterDataInfo");
}

}  // namespace plumb::cuda::abi
