// SPDX-License-Identifier: Apache-2.0
// Compares what the ABI headers of the driver state with NVIDIA's own header.
#include "runners/cuda/driver/driver_abi.hpp"

#include <gtest/gtest.h>

#include "tests/support/nvidia_required.hpp"
#include "tests/unit/cuda_abi/declared_calls.hpp"

#if __has_include(<cuda.h>)
#define __CUDA_API_VERSION_INTERNAL  // declares every version of a function by its own name
#include <cuda.h>

namespace plumb::cuda::abi {

template <>
inline constexpr bool kStandsFor<Uuid, CUuuid> = true;
template <>
inline constexpr bool kStandsFor<DriverCalls::DeviceAttribute, CUdevice_attribute> = true;
template <>
inline constexpr bool kStandsFor<DriverCalls::Graphs::NodeType, CUgraphNodeType> = true;
template <>
inline constexpr bool kStandsFor<GraphEdge, CUgraphEdgeData> = true;
template <>
inline constexpr bool kStandsFor<DriverCalls::Graphs::KernelNode, CUDA_KERNEL_NODE_PARAMS> = true;
template <>
inline constexpr bool kStandsFor<DriverCalls::Graphs::Update, CUgraphExecUpdateResultInfo> = true;

namespace {

/// Entry points of the driver as cuda.h declares them.
struct DriverHeader {
  template <typename Ours>
  static constexpr bool declares(std::string_view name) {
    PLUMB_DECLARED(cuInit)
    PLUMB_DECLARED(cuDriverGetVersion)
    PLUMB_DECLARED(cuGetErrorName)
    PLUMB_DECLARED(cuGetErrorString)
    PLUMB_DECLARED(cuDeviceGetCount)
    PLUMB_DECLARED(cuDeviceGet)
    PLUMB_DECLARED(cuDeviceGetName)
    PLUMB_DECLARED(cuDeviceGetUuid_v2)
    PLUMB_DECLARED(cuDeviceGetAttribute)
    PLUMB_DECLARED(cuDeviceTotalMem_v2)
    PLUMB_DECLARED(cuDevicePrimaryCtxRetain)
    PLUMB_DECLARED(cuDevicePrimaryCtxRelease_v2)
    PLUMB_DECLARED(cuCtxSetCurrent)
    PLUMB_DECLARED(cuCtxSynchronize)
    PLUMB_DECLARED(cuMemGetInfo_v2)
    PLUMB_DECLARED(cuMemAlloc_v2)
    PLUMB_DECLARED(cuMemFree_v2)
    PLUMB_DECLARED(cuMemAllocHost_v2)
    PLUMB_DECLARED(cuMemFreeHost)
    PLUMB_DECLARED(cuMemcpyHtoD_v2)
    PLUMB_DECLARED(cuMemcpyDtoH_v2)
    PLUMB_DECLARED(cuMemcpyHtoDAsync_v2)
    PLUMB_DECLARED(cuMemcpyDtoHAsync_v2)
    PLUMB_DECLARED(cuMemcpyDtoDAsync_v2)
    PLUMB_DECLARED(cuMemsetD8Async)
    PLUMB_DECLARED(cuStreamCreate)
    PLUMB_DECLARED(cuStreamDestroy_v2)
    PLUMB_DECLARED(cuStreamSynchronize)
    PLUMB_DECLARED(cuStreamWaitEvent)
    PLUMB_DECLARED(cuStreamBeginCapture_v2)
    PLUMB_DECLARED(cuStreamEndCapture)
    PLUMB_DECLARED(cuEventCreate)
    PLUMB_DECLARED(cuEventDestroy_v2)
    PLUMB_DECLARED(cuEventRecord)
    PLUMB_DECLARED(cuEventRecordWithFlags)
    PLUMB_DECLARED(cuEventSynchronize)
    PLUMB_DECLARED(cuEventElapsedTime)
    PLUMB_DECLARED(cuGraphInstantiateWithFlags)
    PLUMB_DECLARED(cuGraphUpload)
    PLUMB_DECLARED(cuGraphLaunch)
    PLUMB_DECLARED(cuGraphGetNodes)
    PLUMB_DECLARED(cuGraphDestroy)
    PLUMB_DECLARED(cuGraphExecDestroy)
    PLUMB_DECLARED(cuModuleLoadData)
    PLUMB_DECLARED(cuModuleUnload)
    PLUMB_DECLARED(cuModuleGetFunction)
    PLUMB_DECLARED(cuLaunchKernel)
    PLUMB_DECLARED(cuGraphGetEdges_v2)
    PLUMB_DECLARED(cuGraphNodeGetType)
    PLUMB_DECLARED(cuGraphKernelNodeGetParams_v2)
    PLUMB_DECLARED(cuGraphChildGraphNodeGetGraph)
    PLUMB_DECLARED(cuKernelGetFunction)
    PLUMB_DECLARED(cuFuncGetName)
    PLUMB_DECLARED(cuFuncGetAttribute)
    PLUMB_DECLARED(cuGraphExecUpdate_v2)
    return false;
  }
};

static_assert(are_declared<DriverHeader, DriverCalls>([](auto& calls, auto visit) {
  for_each_driver_call(calls, visit);
}));
static_assert(are_declared<DriverHeader, DriverCalls::Graphs>([](auto& calls, auto visit) {
  for_each_graph_call(calls, visit);
}));

static_assert(sizeof(DevicePointer) == sizeof(CUdeviceptr));
static_assert(same(kDriverOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY));
static_assert(same(kDriverStubLibrary, CUDA_ERROR_STUB_LIBRARY));
static_assert(same(kDriverNoDevice, CUDA_ERROR_NO_DEVICE));
static_assert(same(DriverCalls::DeviceAttribute::kClockRate, CU_DEVICE_ATTRIBUTE_CLOCK_RATE));
static_assert(same(DriverCalls::DeviceAttribute::kMultiprocessors,
                   CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
static_assert(same(DriverCalls::DeviceAttribute::kComputeMode, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE));
static_assert(same(DriverCalls::DeviceAttribute::kEccEnabled, CU_DEVICE_ATTRIBUTE_ECC_ENABLED));
static_assert(same(DriverCalls::DeviceAttribute::kPciBus, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID));
static_assert(same(DriverCalls::DeviceAttribute::kPciDevice, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID));
static_assert(same(DriverCalls::DeviceAttribute::kPciDomain, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID));
static_assert(same(DriverCalls::DeviceAttribute::kMemoryClockRate,
                   CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE));
static_assert(same(DriverCalls::DeviceAttribute::kMemoryBusWidth,
                   CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH));
static_assert(same(DriverCalls::DeviceAttribute::kL2CacheSize, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE));
static_assert(same(DriverCalls::DeviceAttribute::kComputeMajor,
                   CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
static_assert(same(DriverCalls::DeviceAttribute::kComputeMinor,
                   CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
static_assert(same(DriverCalls::DeviceAttribute::kThreadsPerBlock,
                   CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
static_assert(same(DriverCalls::DeviceAttribute::kBlockX, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X));
static_assert(same(DriverCalls::DeviceAttribute::kBlockY, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y));
static_assert(same(DriverCalls::DeviceAttribute::kBlockZ, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z));
static_assert(same(DriverCalls::DeviceAttribute::kGridX, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X));
static_assert(same(DriverCalls::DeviceAttribute::kGridY, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y));
static_assert(same(DriverCalls::DeviceAttribute::kGridZ, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z));
static_assert(same(DriverCalls::DeviceAttribute::kSharedMemoryPerBlock,
                   CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK));
static_assert(same(DriverCalls::DeviceAttribute::kWarpSize, CU_DEVICE_ATTRIBUTE_WARP_SIZE));
static_assert(same(DriverCalls::DeviceAttribute::kRegistersPerBlock,
                   CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK));
static_assert(same(DriverCalls::DeviceAttribute::kTccDriver, CU_DEVICE_ATTRIBUTE_TCC_DRIVER));
static_assert(same(DriverCalls::DeviceAttribute::kThreadsPerMultiprocessor,
                   CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR));
static_assert(same(DriverCalls::DeviceAttribute::kRegistersPerMultiprocessor,
                   CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR));
static_assert(same(DriverCalls::DeviceAttribute::kCooperativeLaunch,
                   CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH));
static_assert(same(DriverCalls::DeviceAttribute::kSharedMemoryPerBlockOptin,
                   CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));
static_assert(same(DriverCalls::DeviceAttribute::kBlocksPerMultiprocessor,
                   CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR));
static_assert(same(DriverCalls::DeviceAttribute::kReservedSharedMemoryPerBlock,
                   CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK));
static_assert(same(kStreamNonBlocking, CU_STREAM_NON_BLOCKING));
static_assert(same(kEventDefault, CU_EVENT_DEFAULT));
static_assert(same(kEventNoTiming, CU_EVENT_DISABLE_TIMING));
static_assert(same(kEventRecordExternal, CU_EVENT_RECORD_EXTERNAL));
static_assert(same(kCaptureThreadLocal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));

static_assert(sizeof(GraphEdge) == sizeof(CUgraphEdgeData));
static_assert(same(DriverCalls::Graphs::NodeType::kKernel, CU_GRAPH_NODE_TYPE_KERNEL));
static_assert(same(DriverCalls::Graphs::NodeType::kCopy, CU_GRAPH_NODE_TYPE_MEMCPY));
static_assert(same(DriverCalls::Graphs::NodeType::kSet, CU_GRAPH_NODE_TYPE_MEMSET));
static_assert(same(DriverCalls::Graphs::NodeType::kHost, CU_GRAPH_NODE_TYPE_HOST));
static_assert(same(DriverCalls::Graphs::NodeType::kGraph, CU_GRAPH_NODE_TYPE_GRAPH));
static_assert(same(DriverCalls::Graphs::NodeType::kEmpty, CU_GRAPH_NODE_TYPE_EMPTY));
static_assert(sizeof(DriverCalls::Graphs::KernelNode) == sizeof(CUDA_KERNEL_NODE_PARAMS));
static_assert(offsetof(DriverCalls::Graphs::KernelNode, function) ==
              offsetof(CUDA_KERNEL_NODE_PARAMS, func));
static_assert(offsetof(DriverCalls::Graphs::KernelNode, grid) ==
              offsetof(CUDA_KERNEL_NODE_PARAMS, gridDimX));
static_assert(offsetof(DriverCalls::Graphs::KernelNode, block) ==
              offsetof(CUDA_KERNEL_NODE_PARAMS, blockDimX));
static_assert(offsetof(DriverCalls::Graphs::KernelNode, dynamic_shared) ==
              offsetof(CUDA_KERNEL_NODE_PARAMS, sharedMemBytes));
static_assert(offsetof(DriverCalls::Graphs::KernelNode, kernel) ==
              offsetof(CUDA_KERNEL_NODE_PARAMS, kern));
static_assert(sizeof(DriverCalls::Graphs::Update) == sizeof(CUgraphExecUpdateResultInfo));
static_assert(offsetof(DriverCalls::Graphs::Update, result) ==
              offsetof(CUgraphExecUpdateResultInfo, result));
static_assert(same(DriverCalls::Graphs::UpdateResult::kUpdated, CU_GRAPH_EXEC_UPDATE_SUCCESS));
static_assert(same(DriverCalls::Graphs::UpdateResult::kError, CU_GRAPH_EXEC_UPDATE_ERROR));
static_assert(same(DriverCalls::Graphs::UpdateResult::kTopologyChanged,
                   CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED));
static_assert(same(DriverCalls::Graphs::UpdateResult::kNodeTypeChanged,
                   CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED));
static_assert(same(DriverCalls::Graphs::UpdateResult::kFunctionChanged,
                   CU_GRAPH_EXEC_UPDATE_ERROR_FUNCTION_CHANGED));
static_assert(same(DriverCalls::Graphs::UpdateResult::kParametersChanged,
                   CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED));
static_assert(same(DriverCalls::Graphs::UpdateResult::kNotSupported,
                   CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED));
static_assert(same(DriverCalls::Graphs::UpdateResult::kUnsupportedFunctionChange,
                   CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE));
static_assert(same(DriverCalls::Graphs::UpdateResult::kAttributesChanged,
                   CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED));
static_assert(same(kFunctionStaticShared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
static_assert(same(kFunctionRegisters, CU_FUNC_ATTRIBUTE_NUM_REGS));
static_assert(std::is_same_v<Device, CUdevice>);
static_assert(same(kDriverSuccess, CUDA_SUCCESS));
PLUMB_SAME_FIELD(DriverCalls::Graphs::KernelNode,
                 parameters,
                 CUDA_KERNEL_NODE_PARAMS,
                 kernelParams);
PLUMB_SAME_FIELD(DriverCalls::Graphs::KernelNode, extra, CUDA_KERNEL_NODE_PARAMS, extra);
PLUMB_SAME_FIELD(DriverCalls::Graphs::KernelNode, context, CUDA_KERNEL_NODE_PARAMS, ctx);
PLUMB_SAME_FIELD(DriverCalls::Graphs::Update, node, CUgraphExecUpdateResultInfo, errorNode);
PLUMB_SAME_FIELD(DriverCalls::Graphs::Update, from, CUgraphExecUpdateResultInfo, errorFromNode);

TEST(DriverAbi, states_the_headers_numbers) {
  SUCCEED() << "compared when this file was compiled";
}

}  // namespace
}  // namespace plumb::cuda::abi
#else
TEST(DriverAbi, states_the_headers_numbers) {
  PLUMB_WITHOUT_NVIDIA() << "the header of the CUDA driver is not here";
}
#endif
