// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// Part of the binary interface of the management library (NVML) that the worker uses. It follows
/// NVML's reference manual. The toolkit has no header of it to compare with.
namespace plumb::cuda::abi {

using ManagedHandle = void*;  ///< nvmlDevice_t
using EventSet = void*;       ///< nvmlEventSet_t

inline constexpr int kManagementInsufficientSize = 7;

/// Layout of nvmlProcessInfo_t as nvmlDeviceGetComputeRunningProcesses_v3 writes it.
struct ManagedProcess {
  unsigned pid = 0;
  unsigned long long memory = 0;
  unsigned gpu_instance = 0;
  unsigned compute_instance = 0;
};

/// Layout of nvmlEventData_t.
struct ManagedEvent {
  ManagedHandle device = nullptr;
  unsigned long long type = 0;
  unsigned long long data = 0;  ///< of an Xid event: its number
  unsigned gpu_instance = 0;
  unsigned compute_instance = 0;
};

/// Values of nvmlClockType_t.
enum class ManagedClock : unsigned { kSm = 1, kMemory = 2 };

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
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*driver_version)(char*, unsigned) = nullptr;
  int (*by_uuid)(const char*, ManagedHandle*) = nullptr;
  int (*mig_mode)(ManagedHandle, unsigned*, unsigned*) = nullptr;
  int (*clock)(ManagedHandle, ManagedClock, unsigned*) = nullptr;      // MHz
  int (*max_clock)(ManagedHandle, ManagedClock, unsigned*) = nullptr;  // MHz
  int (*power_limit)(ManagedHandle, unsigned*) = nullptr;              // milliwatts
  int (*temperature)(ManagedHandle, unsigned, unsigned*) = nullptr;
  int (*processes)(ManagedHandle, unsigned*, ManagedProcess*) = nullptr;
  int (*power)(ManagedHandle, unsigned*) = nullptr;             // milliwatts
  int (*energy)(ManagedHandle, unsigned long long*) = nullptr;  // millijoules
  int (*event_reasons)(ManagedHandle, unsigned long long*) = nullptr;
  int (*throttle_reasons)(ManagedHandle, unsigned long long*) = nullptr;  // its name before 535
  int (*errors)(ManagedHandle, int, int, unsigned long long*) = nullptr;
  int (*event_set_create)(EventSet*) = nullptr;
  int (*event_set_free)(EventSet) = nullptr;
  int (*register_events)(ManagedHandle, unsigned long long, EventSet) = nullptr;
  int (*event_set_wait)(EventSet, ManagedEvent*, unsigned) = nullptr;  // milliseconds
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
