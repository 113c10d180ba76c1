// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

/// Part of CUPTI's binary interface that the worker uses, as its headers document it. That is the
/// activity interface, with the front part of a kernel's record, which is the same in CUDA 12 and
/// 13 (docs/adr/0007), and the interface to hardware counters.

namespace plumb::cuda::abi {

inline constexpr int kProfilerSuccess = 0;
inline constexpr int kConcurrentKernel = 10;  // CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
inline constexpr std::uint32_t kFlushForced = 1;

using RequestBuffer = void (*)(std::uint8_t**, std::size_t*, std::size_t*);
using CompleteBuffer = void (*)(void*, std::uint32_t, std::uint8_t*, std::size_t, std::size_t);

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

/// Entry points of CUPTI's activity interface, found by name.
struct ProfilerCalls {
  /// Entry points of CUPTI that tell its version and its words, found by name.
  struct Texts {
    int (*version)(std::uint32_t*) = nullptr;
    int (*result_text)(int, const char**) = nullptr;
  };

  /// Byte offsets of the fields in CUpti_ActivityKernel5 to 10.
  struct RecordLayout {
    static constexpr std::size_t kKind = 0;            // int
    static constexpr std::size_t kRegisters = 6;       // uint16
    static constexpr std::size_t kStart = 16;          // uint64, ns
    static constexpr std::size_t kEnd = 24;            // uint64, ns
    static constexpr std::size_t kStream = 48;         // uint32
    static constexpr std::size_t kGrid = 52;           // int32, three
    static constexpr std::size_t kBlock = 64;          // int32, three
    static constexpr std::size_t kStaticShared = 76;   // int32, bytes
    static constexpr std::size_t kDynamicShared = 80;  // int32, bytes
    static constexpr std::size_t kName = 104;          // const char*
    static constexpr std::size_t kFront = 112;         // bytes up to here are read
  };

  int (*register_callbacks)(RequestBuffer, CompleteBuffer) = nullptr;
  int (*enable)(int) = nullptr;
  int (*disable)(int) = nullptr;
  int (*flush)(std::uint32_t) = nullptr;
  int (*next_record)(std::uint8_t*, std::size_t, void**) = nullptr;
  int (*dropped)(void*, std::uint32_t, std::size_t*) = nullptr;

  /// Entry points that read a GPU's counters. Without a driver, all but `initialize` crash the
  /// process with a bad address (CUPTI 13.0).
  ///
  /// Each call is told how many bytes its structure has (CUPTI 12.6 to 13). `kBytes` is that
  /// number: up to the last field's end, which is not the structure's size.
  struct Ranges {
    /// Entry points that need no GPU, found by name.
    struct Host {
      struct BeginParams {  // CUpti_Profiler_Host_Initialize_Params
        static constexpr std::size_t kBytes = 48;
        std::size_t bytes = kBytes;
        void* reserved = nullptr;
        int profiler = kRangeProfiler;
        const char* chip = nullptr;
        const std::uint8_t* availability = nullptr;
        void* host = nullptr;
      };

      struct EndParams {  // CUpti_Profiler_Host_Deinitialize_Params
        static constexpr std::size_t kBytes = 24;
        std::size_t bytes = kBytes;
        void* reserved = nullptr;
        void* host = nullptr;
      };

      struct MetricsParams {  // CUpti_Profiler_Host_ConfigAddMetrics_Params
        static constexpr std::size_t kBytes = 40;
        std::size_t bytes = kBytes;
        void* reserved = nullptr;
        void* host = nullptr;
        const char** names = nullptr;
        std::size_t count = 0;
      };

      struct ImageSizeParams {  // CUpti_Profiler_Host_GetConfigImageSize_Params
        static constexpr std::size_t kBytes = 32;
        std::size_t bytes = kBytes;
        void* reserved = nullptr;
        void* host = nullptr;
        std::size_t image_bytes = 0;
      };

      struct ImageParams {  // CUpti_Profiler_Host_GetConfigImage_Params
        static constexpr std::size_t kBytes = 40;
        std::size_t bytes = kBytes;
        void* reserved = nullptr;
        void* host = nullptr;
        std::size_t image_bytes = 0;
        std::uint8_t* image = nullptr;
      };

      struct PassesParams {  // CUpti_Profiler_Host_GetNumOfPasses_Params
        static constexpr std::size_t kBytes = 40;
        std::size_t bytes = kBytes;
        void* reserved = nullptr;
        std::size_t image_bytes = 0;
        std::uint8_t* image = nullptr;
        std::size_t passes = 0;
      };

      struct ValuesParams {  // CUpti_Profiler_Host_EvaluateToGpuValues_Params
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

      int (*begin)(BeginParams*) = nullptr;
      int (*end)(EndParams*) = nullptr;
      int (*add_metrics)(MetricsParams*) = nullptr;
      int (*image_size)(ImageSizeParams*) = nullptr;
      int (*image)(ImageParams*) = nullptr;
      int (*passes)(PassesParams*) = nullptr;
      int (*values)(ValuesParams*) = nullptr;
    };

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

    struct BeginParams {  // CUpti_RangeProfiler_Enable_Params
      static constexpr std::size_t kBytes = 32;
      std::size_t bytes = kBytes;
      void* reserved = nullptr;
      void* context = nullptr;
      void* profiler = nullptr;
    };

    struct Params {  // CUpti_RangeProfiler_Disable_Params, …_Start_Params, …_PopRange_Params
      static constexpr std::size_t kBytes = 24;
      std::size_t bytes = kBytes;
      void* reserved = nullptr;
      void* profiler = nullptr;
    };

    struct StopParams {  // CUpti_RangeProfiler_Stop_Params
      static constexpr std::size_t kBytes = 41;
      std::size_t bytes = kBytes;
      void* reserved = nullptr;
      void* profiler = nullptr;
      std::size_t pass = 0;
      std::size_t level = 0;
      std::uint8_t all_passes = 0;
    };

    struct PushParams {  // CUpti_RangeProfiler_PushRange_Params
      static constexpr std::size_t kBytes = 32;
      std::size_t bytes = kBytes;
      void* reserved = nullptr;
      void* profiler = nullptr;
      const char* name = nullptr;
    };

    struct DecodeParams {  // CUpti_RangeProfiler_DecodeData_Params
      static constexpr std::size_t kBytes = 32;
      std::size_t bytes = kBytes;
      void* reserved = nullptr;
      void* profiler = nullptr;
      std::size_t dropped = 0;
    };

    struct DataSizeParams {  // CUpti_RangeProfiler_GetCounterDataSize_Params
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

    struct DataParams {  // CUpti_RangeProfiler_CounterDataImage_Initialize_Params
      static constexpr std::size_t kBytes = 40;
      std::size_t bytes = kBytes;
      void* reserved = nullptr;
      void* profiler = nullptr;
      std::size_t data_bytes = 0;
      std::uint8_t* data = nullptr;
    };

    struct SetParams {  // CUpti_RangeProfiler_SetConfig_Params
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

    struct CountParams {  // CUpti_RangeProfiler_GetCounterDataInfo_Params
      static constexpr std::size_t kBytes = 40;
      std::size_t bytes = kBytes;
      void* reserved = nullptr;
      const std::uint8_t* data = nullptr;
      std::size_t data_bytes = 0;
      std::size_t ranges = 0;
    };

    int (*initialize)(ProfilerParams*) = nullptr;
    int (*finish)(ProfilerParams*) = nullptr;
    int (*chip_name)(ChipNameParams*) = nullptr;
    int (*availability)(AvailabilityParams*) = nullptr;
    int (*begin)(BeginParams*) = nullptr;
    int (*end)(Params*) = nullptr;
    int (*data_size)(DataSizeParams*) = nullptr;
    int (*data)(DataParams*) = nullptr;
    int (*set)(SetParams*) = nullptr;
    int (*start)(Params*) = nullptr;
    int (*stop)(StopParams*) = nullptr;
    int (*push)(PushParams*) = nullptr;
    int (*pop)(Params*) = nullptr;
    int (*decode)(DecodeParams*) = nullptr;
    int (*count)(CountParams*) = nullptr;
  };
};

/// Calls `visit(member, "cuptiName")` for every entry point.
template <typename Calls, typename Visit>
constexpr void for_each_profiler_call(Calls& calls, Visit visit) {
  visit(calls.register_callbacks, "cuptiActivityRegisterCallbacks");
  visit(calls.enable, "cuptiActivityEnable");
  visit(calls.disable, "cuptiActivityDisable");
  visit(calls.flush, "cuptiActivityFlushAll");
  visit(calls.next_record, "cuptiActivityGetNextRecord");
  visit(calls.dropped, "cuptiActivityGetNumDroppedRecords");
}

/// Calls `visit(member, "cuptiName")` for every entry point.
template <typename Calls, typename Visit>
constexpr void for_each_profiler_text_call(Calls& calls, Visit visit) {
  visit(calls.version, "cuptiGetVersion");
  visit(calls.result_text, "cuptiGetResultString");
}

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
