// SPDX-License-Identifier: Apache-2.0
// Compares what the ABI header of NVML states with NVIDIA's own header.
#include <gtest/gtest.h>

#include "runners/cuda/driver/driver_abi.hpp"
#include "tests/support/nvidia_required.hpp"
#include "tests/unit/cuda_abi/declared_calls.hpp"

#if __has_include(<nvml.h>)
#include <nvml.h>

namespace plumb::cuda::abi {

template <>
inline constexpr bool kStandsFor<ManagementCalls::Clock, nvmlClockType_t> = true;
template <>
inline constexpr bool kStandsFor<ManagementCalls::Process, nvmlProcessInfo_t> = true;
template <>
inline constexpr bool kStandsFor<ManagementCalls::Event, nvmlEventData_t> = true;

namespace {

/// Entry points of NVML as its header declares them.
struct ManagementHeader {
  template <typename Ours>
  static constexpr bool declares(std::string_view name) {
    PLUMB_DECLARED(nvmlInit_v2)
    PLUMB_DECLARED(nvmlShutdown)
    PLUMB_DECLARED(nvmlSystemGetDriverVersion)
    PLUMB_DECLARED(nvmlDeviceGetHandleByUUID)
    PLUMB_DECLARED(nvmlDeviceGetMigMode)
    PLUMB_DECLARED(nvmlDeviceGetClockInfo)
    PLUMB_DECLARED(nvmlDeviceGetMaxClockInfo)
    PLUMB_DECLARED(nvmlDeviceGetEnforcedPowerLimit)
    PLUMB_DECLARED(nvmlDeviceGetTemperature)
    PLUMB_DECLARED(nvmlDeviceGetComputeRunningProcesses_v3)
    PLUMB_DECLARED(nvmlDeviceGetPowerUsage)
    PLUMB_DECLARED(nvmlDeviceGetTotalEnergyConsumption)
    PLUMB_DECLARED(nvmlDeviceGetCurrentClocksEventReasons)
    PLUMB_DECLARED(nvmlDeviceGetCurrentClocksThrottleReasons)
    PLUMB_DECLARED(nvmlDeviceGetTotalEccErrors)
    PLUMB_DECLARED(nvmlEventSetCreate)
    PLUMB_DECLARED(nvmlEventSetFree)
    PLUMB_DECLARED(nvmlDeviceRegisterEvents)
    PLUMB_DECLARED(nvmlEventSetWait_v2)
    return false;
  }
};

static_assert(are_declared<ManagementHeader, ManagementCalls>([](auto& calls, auto visit) {
  for_each_management_call(calls, visit);
}));

PLUMB_SAME_FIELD(ManagementCalls::Process, pid, nvmlProcessInfo_t, pid);
PLUMB_SAME_FIELD(ManagementCalls::Process, memory, nvmlProcessInfo_t, usedGpuMemory);
PLUMB_SAME_FIELD(ManagementCalls::Process, gpu_instance, nvmlProcessInfo_t, gpuInstanceId);
PLUMB_SAME_FIELD(ManagementCalls::Process, compute_instance, nvmlProcessInfo_t, computeInstanceId);
static_assert(sizeof(ManagementCalls::Process) == sizeof(nvmlProcessInfo_t));
PLUMB_SAME_FIELD(ManagementCalls::Event, device, nvmlEventData_t, device);
PLUMB_SAME_FIELD(ManagementCalls::Event, type, nvmlEventData_t, eventType);
PLUMB_SAME_FIELD(ManagementCalls::Event, data, nvmlEventData_t, eventData);
PLUMB_SAME_FIELD(ManagementCalls::Event, gpu_instance, nvmlEventData_t, gpuInstanceId);
PLUMB_SAME_FIELD(ManagementCalls::Event, compute_instance, nvmlEventData_t, computeInstanceId);
static_assert(sizeof(ManagementCalls::Event) == sizeof(nvmlEventData_t));
static_assert(same(kManagementInsufficientSize, NVML_ERROR_INSUFFICIENT_SIZE));
static_assert(same(ManagementCalls::Clock::kSm, NVML_CLOCK_SM));
static_assert(same(ManagementCalls::Clock::kMemory, NVML_CLOCK_MEM));
static_assert(same(kSensorGpu, NVML_TEMPERATURE_GPU));
static_assert(same(kUncorrectedErrors, NVML_MEMORY_ERROR_TYPE_UNCORRECTED));
static_assert(same(kSinceDriverLoad, NVML_VOLATILE_ECC));
static_assert(kEventXid == nvmlEventTypeXidCriticalError);
static_assert(kReasonApplicationClocks == nvmlClocksEventReasonApplicationsClocksSetting);
static_assert(kReasonSoftwarePowerCap == nvmlClocksEventReasonSwPowerCap);
static_assert(kReasonHardwareSlowdown == nvmlClocksThrottleReasonHwSlowdown);
static_assert(kReasonSyncBoost == nvmlClocksEventReasonSyncBoost);
static_assert(kReasonSoftwareThermal == nvmlClocksEventReasonSwThermalSlowdown);
static_assert(kReasonHardwareThermal == nvmlClocksThrottleReasonHwThermalSlowdown);
static_assert(kReasonPowerBrake == nvmlClocksThrottleReasonHwPowerBrakeSlowdown);

TEST(ManagementAbi, states_the_headers_numbers) {
  SUCCEED() << "compared when this file was compiled";
}

}  // namespace
}  // namespace plumb::cuda::abi
#else
TEST(ManagementAbi, states_the_headers_numbers) {
  PLUMB_WITHOUT_NVIDIA() << "the header of NVML is not here";
}
#endif
