// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

/// Part of the CUDA driver's binary interface that the worker uses, as the CUDA Driver API
/// documents it. Names have the suffix that cuda.h gives them (docs/adr/0007). Stable: a driver
/// keeps the entry points of all earlier drivers.

namespace plumb::cuda::abi {

using DevicePointer = std::uint64_t;  ///< CUdeviceptr
using Device = int;                   ///< CUdevice
using Context = void*;
using Stream = void*;
using Event = void*;
using Graph = void*;
using GraphExecutable = void*;
using Module = void*;
using Function = void*;
using Uuid = std::array<unsigned char, 16>;

/// Returns a GPU address in the form that libraries take.
inline void* address_of(DevicePointer pointer) {
  return std::bit_cast<void*>(pointer);
}

inline constexpr int kDriverSuccess = 0;
inline constexpr int kDriverOutOfMemory = 2;
inline constexpr int kDriverStubLibrary = 34;
inline constexpr int kDriverNoDevice = 100;

inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kEventDefault = 0;
inline constexpr unsigned kEventNoTiming = 2;
inline constexpr unsigned kEventRecordExternal = 1;
inline constexpr int kCaptureThreadLocal = 1;  // CU_STREAM_CAPTURE_MODE_THREAD_LOCAL

using GraphNode = void*;
using Kernel = void*;
using GraphEdge = std::array<unsigned char, 8>;  ///< CUgraphEdgeData
inline constexpr int kFunctionStaticShared = 1;  // CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES
inline constexpr int kFunctionRegisters = 4;     // CU_FUNC_ATTRIBUTE_NUM_REGS

/// Entry points of the driver, found by name by Driver.
struct DriverCalls {
  /// Values of CUdevice_attribute.
  enum class DeviceAttribute : int {
    kThreadsPerBlock = 1,
    kBlockX = 2,
    kBlockY = 3,
    kBlockZ = 4,
    kGridX = 5,
    kGridY = 6,
    kGridZ = 7,
    kSharedMemoryPerBlock = 8,
    kWarpSize = 10,
    kRegistersPerBlock = 12,
    kClockRate = 13,  // kHz
    kMultiprocessors = 16,
    kComputeMode = 20,
    kEccEnabled = 32,
    kPciBus = 33,
    kPciDevice = 34,
    kTccDriver = 35,
    kMemoryClockRate = 36,  // kHz
    kMemoryBusWidth = 37,   // bits
    kL2CacheSize = 38,
    kThreadsPerMultiprocessor = 39,
    kPciDomain = 50,
    kComputeMajor = 75,
    kComputeMinor = 76,
    kRegistersPerMultiprocessor = 82,
    kCooperativeLaunch = 95,
    kSharedMemoryPerBlockOptin = 97,
    kBlocksPerMultiprocessor = 106,
    kReservedSharedMemoryPerBlock = 111,
  };

  int (*init)(unsigned) = nullptr;
  int (*driver_get_version)(int*) = nullptr;
  int (*get_error_name)(int, const char**) = nullptr;
  int (*get_error_string)(int, const char**) = nullptr;
  int (*device_get_count)(int*) = nullptr;
  int (*device_get)(Device*, int) = nullptr;
  int (*device_get_name)(char*, int, Device) = nullptr;
  int (*device_get_uuid)(Uuid*, Device) = nullptr;
  int (*device_get_attribute)(int*, DeviceAttribute, Device) = nullptr;
  int (*device_total_mem)(std::size_t*, Device) = nullptr;
  int (*primary_context_retain)(Context*, Device) = nullptr;
  int (*primary_context_release)(Device) = nullptr;
  int (*context_set_current)(Context) = nullptr;
  int (*context_synchronize)() = nullptr;
  int (*mem_get_info)(std::size_t*, std::size_t*) = nullptr;
  int (*mem_alloc)(DevicePointer*, std::size_t) = nullptr;
  int (*mem_free)(DevicePointer) = nullptr;
  int (*mem_alloc_host)(void**, std::size_t) = nullptr;
  int (*mem_free_host)(void*) = nullptr;
  int (*memcpy_to_device)(DevicePointer, const void*, std::size_t) = nullptr;
  int (*memcpy_to_host)(void*, DevicePointer, std::size_t) = nullptr;
  int (*memcpy_to_device_async)(DevicePointer, const void*, std::size_t, Stream) = nullptr;
  int (*memcpy_to_host_async)(void*, DevicePointer, std::size_t, Stream) = nullptr;
  int (*memcpy_on_device)(DevicePointer, DevicePointer, std::size_t, Stream) = nullptr;
  int (*memset_bytes)(DevicePointer, unsigned char, std::size_t, Stream) = nullptr;
  int (*stream_create)(Stream*, unsigned) = nullptr;
  int (*stream_destroy)(Stream) = nullptr;
  int (*stream_synchronize)(Stream) = nullptr;
  int (*stream_wait_event)(Stream, Event, unsigned) = nullptr;
  int (*stream_begin_capture)(Stream, int) = nullptr;
  int (*stream_end_capture)(Stream, Graph*) = nullptr;
  int (*event_create)(Event*, unsigned) = nullptr;
  int (*event_destroy)(Event) = nullptr;
  int (*event_record)(Event, Stream) = nullptr;
  int (*event_record_with_flags)(Event, Stream, unsigned) = nullptr;
  int (*event_synchronize)(Event) = nullptr;
  int (*event_elapsed_time)(float*, Event, Event) = nullptr;  // milliseconds
  int (*graph_instantiate)(GraphExecutable*, Graph, unsigned long long) = nullptr;
  int (*graph_upload)(GraphExecutable, Stream) = nullptr;
  int (*graph_launch)(GraphExecutable, Stream) = nullptr;
  int (*graph_get_nodes)(Graph, void**, std::size_t*) = nullptr;
  int (*graph_destroy)(Graph) = nullptr;
  int (*graph_executable_destroy)(GraphExecutable) = nullptr;
  int (*module_load_data)(Module*, const void*) = nullptr;
  int (*module_unload)(Module) = nullptr;
  int (*module_get_function)(Function*, Module, const char*) = nullptr;
  int (*launch_kernel)(Function,
                       unsigned,
                       unsigned,
                       unsigned,
                       unsigned,
                       unsigned,
                       unsigned,
                       unsigned,
                       Stream,
                       void**,
                       void**) = nullptr;

  /// Entry points that read and update captured graphs, found by name by Driver. They are newer
  /// than the rest (CUDA 12.3). Null: the driver lacks it.
  struct Graphs {
    /// Values of CUgraphNodeType that the worker distinguishes.
    enum class NodeType : int {
      kKernel = 0,
      kCopy = 1,
      kSet = 2,
      kHost = 3,
      kGraph = 4,
      kEmpty = 5
    };

    /// Binary layout of CUDA_KERNEL_NODE_PARAMS (v2).
    struct KernelNode {
      Function function = nullptr;
      std::array<unsigned, 3> grid{};
      std::array<unsigned, 3> block{};
      unsigned dynamic_shared = 0;  // bytes a block
      void** parameters = nullptr;
      void** extra = nullptr;
      Kernel kernel = nullptr;  // where `function` is null
      Context context = nullptr;
    };

    /// Binary layout of CUgraphExecUpdateResultInfo.
    struct Update {
      int result = 0;
      GraphNode node = nullptr;
      GraphNode from = nullptr;
    };

    /// Values of CUgraphExecUpdateResult.
    enum class UpdateResult : int {
      kUpdated = 0,
      kError = 1,
      kTopologyChanged = 2,
      kNodeTypeChanged = 3,
      kFunctionChanged = 4,
      kParametersChanged = 5,
      kNotSupported = 6,
      kUnsupportedFunctionChange = 7,
      kAttributesChanged = 8,
    };

    int (*nodes)(Graph, GraphNode*, std::size_t*) = nullptr;
    int (*edges)(Graph, GraphNode*, GraphNode*, GraphEdge*, std::size_t*) = nullptr;
    int (*node_type)(GraphNode, NodeType*) = nullptr;
    int (*kernel_node)(GraphNode, KernelNode*) = nullptr;
    int (*child_graph)(GraphNode, Graph*) = nullptr;
    int (*kernel_function)(Function*, Kernel) = nullptr;
    int (*function_name)(const char**, Function) = nullptr;
    int (*function_attribute)(int*, int, Function) = nullptr;
    int (*update)(GraphExecutable, Graph, Update*) = nullptr;
  };
};

/// Calls `visit(member, "cuName")` for every entry point. Driver finds the entry points by these
/// names. A test compares them with the toolkit's own library where there is one.
template <typename Calls, typename Visit>
constexpr void for_each_driver_call(Calls& calls, Visit visit) {
  visit(calls.init, "cuInit");
  visit(calls.driver_get_version, "cuDriverGetVersion");
  visit(calls.get_error_name, "cuGetErrorName");
  visit(calls.get_error_string, "cuGetErrorString");
  visit(calls.device_get_count, "cuDeviceGetCount");
  visit(calls.device_get, "cuDeviceGet");
  visit(calls.device_get_name, "cuDeviceGetName");
  visit(calls.device_get_uuid, "cuDeviceGetUuid_v2");
  visit(calls.device_get_attribute, "cuDeviceGetAttribute");
  visit(calls.device_total_mem, "cuDeviceTotalMem_v2");
  visit(calls.primary_context_retain, "cuDevicePrimaryCtxRetain");
  visit(calls.primary_context_release, "cuDevicePrimaryCtxRelease_v2");
  visit(calls.context_set_current, "cuCtxSetCurrent");
  visit(calls.context_synchronize, "cuCtxSynchronize");
  visit(calls.mem_get_info, "cuMemGetInfo_v2");
  visit(calls.mem_alloc, "cuMemAlloc_v2");
  visit(calls.mem_free, "cuMemFree_v2");
  visit(calls.mem_alloc_host, "cuMemAllocHost_v2");
  visit(calls.mem_free_host, "cuMemFreeHost");
  visit(calls.memcpy_to_device, "cuMemcpyHtoD_v2");
  visit(calls.memcpy_to_host, "cuMemcpyDtoH_v2");
  visit(calls.memcpy_to_device_async, "cuMemcpyHtoDAsync_v2");
  visit(calls.memcpy_to_host_async, "cuMemcpyDtoHAsync_v2");
  visit(calls.memcpy_on_device, "cuMemcpyDtoDAsync_v2");
  visit(calls.memset_bytes, "cuMemsetD8Async");
  visit(calls.stream_create, "cuStreamCreate");
  visit(calls.stream_destroy, "cuStreamDestroy_v2");
  visit(calls.stream_synchronize, "cuStreamSynchronize");
  visit(calls.stream_wait_event, "cuStreamWaitEvent");
  visit(calls.stream_begin_capture, "cuStreamBeginCapture_v2");
  visit(calls.stream_end_capture, "cuStreamEndCapture");
  visit(calls.event_create, "cuEventCreate");
  visit(calls.event_destroy, "cuEventDestroy_v2");
  visit(calls.event_record, "cuEventRecord");
  visit(calls.event_record_with_flags, "cuEventRecordWithFlags");
  visit(calls.event_synchronize, "cuEventSynchronize");
  visit(calls.event_elapsed_time, "cuEventElapsedTime");
  visit(calls.graph_instantiate, "cuGraphInstantiateWithFlags");
  visit(calls.graph_upload, "cuGraphUpload");
  visit(calls.graph_launch, "cuGraphLaunch");
  visit(calls.graph_get_nodes, "cuGraphGetNodes");
  visit(calls.graph_destroy, "cuGraphDestroy");
  visit(calls.graph_executable_destroy, "cuGraphExecDestroy");
  visit(calls.module_load_data, "cuModuleLoadData");
  visit(calls.module_unload, "cuModuleUnload");
  visit(calls.module_get_function, "cuModuleGetFunction");
  visit(calls.launch_kernel, "cuLaunchKernel");
}

/// Calls `visit(member, "cuName")` for every entry point.
template <typename Calls, typename Visit>
constexpr void for_each_graph_call(Calls& calls, Visit visit) {
  visit(calls.nodes, "cuGraphGetNodes");
  visit(calls.edges, "cuGraphGetEdges_v2");
  visit(calls.node_type, "cuGraphNodeGetType");
  visit(calls.kernel_node, "cuGraphKernelNodeGetParams_v2");
  visit(calls.child_graph, "cuGraphChildGraphNodeGetGraph");
  visit(calls.kernel_function, "cuKernelGetFunction");
  visit(calls.function_name, "cuFuncGetName");
  visit(calls.function_attribute, "cuFuncGetAttribute");
  visit(calls.update, "cuGraphExecUpdate_v2");
}

}  // namespace plumb::cuda::abi

/// Part of the binary interface of the management library (NVML) that the worker uses. It follows
/// NVML's reference manual. The toolkit has no header of it to compare with.

namespace plumb::cuda::abi {

using ManagedHandle = void*;  ///< nvmlDevice_t
using EventSet = void*;       ///< nvmlEventSet_t

inline constexpr int kManagementInsufficientSize = 7;

inline constexpr unsigned kSensorGpu = 0;        // NVML_TEMPERATURE_GPU
inline constexpr int kUncorrectedErrors = 1;     // NVML_MEMORY_ERROR_TYPE_UNCORRECTED
inline constexpr int kSinceDriverLoad = 0;       // NVML_VOLATILE_ECC
inline constexpr std::uint64_t kEventXid = 0x8;  // nvmlEventTypeXidCriticalError

// nvmlClocksEventReason*: why clocks are below their highest.
inline constexpr std::uint64_t kReasonApplicationClocks = 0x2;
inline constexpr std::uint64_t kReasonSoftwarePowerCap = 0x4;
inline constexpr std::uint64_t kReasonHardwareSlowdown = 0x8;
inline constexpr std::uint64_t kReasonSyncBoost = 0x10;
inline constexpr std::uint64_t kReasonSoftwareThermal = 0x20;
inline constexpr std::uint64_t kReasonHardwareThermal = 0x40;
inline constexpr std::uint64_t kReasonPowerBrake = 0x80;

/// Entry points of NVML, found by name. Null where the library is older than the entry point.
struct ManagementCalls {
  /// Layout of nvmlProcessInfo_t as nvmlDeviceGetComputeRunningProcesses_v3 writes it.
  struct Process {
    unsigned pid = 0;
    unsigned long long memory = 0;
    unsigned gpu_instance = 0;
    unsigned compute_instance = 0;
  };

  /// Layout of nvmlEventData_t.
  struct Event {
    ManagedHandle device = nullptr;
    unsigned long long type = 0;
    unsigned long long data = 0;  ///< of an Xid event: its number
    unsigned gpu_instance = 0;
    unsigned compute_instance = 0;
  };

  /// Values of nvmlClockType_t.
  enum class Clock : unsigned { kSm = 1, kMemory = 2 };

  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*driver_version)(char*, unsigned) = nullptr;
  int (*by_uuid)(const char*, ManagedHandle*) = nullptr;
  int (*mig_mode)(ManagedHandle, unsigned*, unsigned*) = nullptr;
  int (*clock)(ManagedHandle, Clock, unsigned*) = nullptr;      // MHz
  int (*max_clock)(ManagedHandle, Clock, unsigned*) = nullptr;  // MHz
  int (*power_limit)(ManagedHandle, unsigned*) = nullptr;       // milliwatts
  int (*temperature)(ManagedHandle, unsigned, unsigned*) = nullptr;
  int (*processes)(ManagedHandle, unsigned*, Process*) = nullptr;
  int (*power)(ManagedHandle, unsigned*) = nullptr;             // milliwatts
  int (*energy)(ManagedHandle, unsigned long long*) = nullptr;  // millijoules
  int (*event_reasons)(ManagedHandle, unsigned long long*) = nullptr;
  int (*throttle_reasons)(ManagedHandle, unsigned long long*) = nullptr;  // its name before 535
  int (*errors)(ManagedHandle, int, int, unsigned long long*) = nullptr;
  int (*event_set_create)(EventSet*) = nullptr;
  int (*event_set_free)(EventSet) = nullptr;
  int (*register_events)(ManagedHandle, unsigned long long, EventSet) = nullptr;
  int (*event_set_wait)(EventSet, Event*, unsigned) = nullptr;  // milliseconds
};

/// Calls `visit(member, "nvmlName")` for every entry point.
template <typename Calls, typename Visit>
constexpr void for_each_management_call(Calls& calls, Visit visit) {
  visit(calls.init, "nvmlInit_v2");
  visit(calls.shutdown, "nvmlShutdown");
  visit(calls.driver_version, "nvmlSystemGetDriverVersion");
  visit(calls.by_uuid, "nvmlDeviceGetHandleByUUID");
  visit(calls.mig_mode, "nvmlDeviceGetMigMode");
  visit(calls.clock, "nvmlDeviceGetClockInfo");
  visit(calls.max_clock, "nvmlDeviceGetMaxClockInfo");
  visit(calls.power_limit, "nvmlDeviceGetEnforcedPowerLimit");
  visit(calls.temperature, "nvmlDeviceGetTemperature");
  visit(calls.processes, "nvmlDeviceGetComputeRunningProcesses_v3");
  visit(calls.power, "nvmlDeviceGetPowerUsage");
  visit(calls.energy, "nvmlDeviceGetTotalEnergyConsumption");
  visit(calls.event_reasons, "nvmlDeviceGetCurrentClocksEventReasons");
  visit(calls.throttle_reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
  visit(calls.errors, "nvmlDeviceGetTotalEccErrors");
  visit(calls.event_set_create, "nvmlEventSetCreate");
  visit(calls.event_set_free, "nvmlEventSetFree");
  visit(calls.register_events, "nvmlDeviceRegisterEvents");
  visit(calls.event_set_wait, "nvmlEventSetWait_v2");
}

}  // namespace plumb::cuda::abi
