// SPDX-License-Identifier: Apache-2.0
// Compares the numbers stated in our ABI headers with those of NVIDIA's, where the toolkit is.
#include <gtest/gtest.h>

#include "runners/cuda/cudnn_abi.hpp"
#include "runners/cuda/driver_abi.hpp"

#if __has_include(<cuda.h>) && __has_include(<cudnn_graph.h>)
#include <cuda.h>
#include <cudnn_graph.h>

namespace plumb::cuda::abi {
namespace {

template <typename Ours, typename Theirs>
consteval bool same(Ours ours, Theirs theirs) {
  return static_cast<long long>(ours) == static_cast<long long>(theirs);
}

static_assert(sizeof(DevicePointer) == sizeof(CUdeviceptr));
static_assert(sizeof(Uuid) == sizeof(CUuuid));
static_assert(same(kDriverOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY));
static_assert(same(kDriverStubLibrary, CUDA_ERROR_STUB_LIBRARY));
static_assert(same(kDriverNoDevice, CUDA_ERROR_NO_DEVICE));
static_assert(same(DeviceAttribute::kClockRate, CU_DEVICE_ATTRIBUTE_CLOCK_RATE));
static_assert(same(DeviceAttribute::kMultiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
static_assert(same(DeviceAttribute::kComputeMode, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE));
static_assert(same(DeviceAttribute::kEccEnabled, CU_DEVICE_ATTRIBUTE_ECC_ENABLED));
static_assert(same(DeviceAttribute::kPciBus, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID));
static_assert(same(DeviceAttribute::kPciDevice, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID));
static_assert(same(DeviceAttribute::kPciDomain, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID));
static_assert(same(DeviceAttribute::kMemoryClockRate, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE));
static_assert(same(DeviceAttribute::kMemoryBusWidth, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH));
static_assert(same(DeviceAttribute::kL2CacheSize, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE));
static_assert(same(DeviceAttribute::kComputeMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
static_assert(same(DeviceAttribute::kComputeMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
static_assert(same(kStreamNonBlocking, CU_STREAM_NON_BLOCKING));
static_assert(same(kEventDefault, CU_EVENT_DEFAULT));
static_assert(same(kEventNoTiming, CU_EVENT_DISABLE_TIMING));
static_assert(same(kCaptureThreadLocal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));

static_assert(same(DescriptorType::kPointwise, CUDNN_BACKEND_POINTWISE_DESCRIPTOR));
static_assert(same(DescriptorType::kEngine, CUDNN_BACKEND_ENGINE_DESCRIPTOR));
static_assert(same(DescriptorType::kExecutionPlan, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR));
static_assert(same(DescriptorType::kOperationGraph, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR));
static_assert(same(DescriptorType::kTensor, CUDNN_BACKEND_TENSOR_DESCRIPTOR));
static_assert(same(DescriptorType::kDeviceProperties, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR));
static_assert(same(ValueType::kDescriptor, CUDNN_TYPE_BACKEND_DESCRIPTOR));
static_assert(same(ValueType::kPointwiseMode, CUDNN_TYPE_POINTWISE_MODE));
static_assert(same(ValueType::kChar, CUDNN_TYPE_CHAR));
static_assert(same(Attribute::kConfigurationWorkspace, CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE));
static_assert(same(Attribute::kEngineNumericalNotes, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE));
static_assert(same(Attribute::kPlanDevice, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP));
static_assert(same(Attribute::kPlanJson, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION));
static_assert(same(Attribute::kGraphEngineCount, CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT));
static_assert(same(Attribute::kDeviceJson, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION));
static_assert(same(Type::kBfloat16, CUDNN_DATA_BFLOAT16));
static_assert(same(HeuristicMode::kA, CUDNN_HEUR_MODE_A));
static_assert(same(PointwiseMode::kRelu, CUDNN_POINTWISE_RELU_FWD));

TEST(Abi, states_the_toolkits_numbers) {
  SUCCEED() << "compared when this file was compiled";
}

}  // namespace
}  // namespace plumb::cuda::abi
#else
TEST(Abi, states_the_toolkits_numbers) {
  GTEST_SKIP() << "the headers of CUDA and cuDNN are not here";
}
#endif
