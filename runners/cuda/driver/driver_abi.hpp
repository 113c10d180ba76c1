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

inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kEventDefault = 0;
inline constexpr unsigned kEventNoTiming = 2;
inline constexpr unsigned kEventRecordExternal = 1;
inline constexpr int kCaptureThreadLocal = 1;  // CU_STREAM_CAPTURE_MODE_THREAD_LOCAL

/// Entry points of the driver, found by name by Driver.
struct DriverCalls {
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

}  // namespace plumb::cuda::abi
