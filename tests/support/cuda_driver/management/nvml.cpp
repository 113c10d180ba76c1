// SPDX-License-Identifier: Apache-2.0
// Test double of NVML: libnvidia-ml.so.1. Its readings are constants.
#include <unistd.h>

#include <array>
#include <cstring>
#include <string>

#include "runners/cuda/driver/driver_abi.hpp"

#define PLUMB_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr int kNotSupported = 3;
constexpr int kTimeout = 10;

constexpr std::size_t kDeviceInUuid = 30;  // two hex digits of its text
std::array<int, 256> devices{};
int events = 0;
int started = 0;
unsigned long long millijoules = 0;

}  // namespace

PLUMB_EXPORT int nvmlInit_v2() {
  started += 1;
  return 0;
}
PLUMB_EXPORT int nvmlShutdown() {
  return started-- > 0 ? 0 : 1;  // NVML_ERROR_UNINITIALIZED
}
PLUMB_EXPORT int nvmlSystemGetDriverVersion(char* text, unsigned length) {
  std::strncpy(text, "test double", length);
  return 0;
}
PLUMB_EXPORT int nvmlDeviceGetHandleByUUID(const char* uuid, void** handle) {
  if (std::strncmp(uuid, "GPU-dddddddd-", 13) != 0 || std::strlen(uuid) < kDeviceInUuid + 2) {
    return 6;  // NOT_FOUND
  }
  *handle = &devices.at(std::stoul(std::string(uuid + kDeviceInUuid, 2), nullptr, 16));
  return 0;
}
PLUMB_EXPORT int nvmlDeviceGetMigMode(void*, unsigned*, unsigned*) {
  return kNotSupported;
}
PLUMB_EXPORT int nvmlDeviceGetClockInfo(void*,
                                        plumb::cuda::abi::ManagementCalls::Clock,
                                        unsigned* mhz) {
  *mhz = 1000;
  return 0;
}
PLUMB_EXPORT int nvmlDeviceGetMaxClockInfo(void*,
                                           plumb::cuda::abi::ManagementCalls::Clock,
                                           unsigned* mhz) {
  *mhz = 1000;
  return 0;
}
PLUMB_EXPORT int nvmlDeviceGetEnforcedPowerLimit(void*, unsigned* milliwatts) {
  *milliwatts = 1000;
  return 0;
}
PLUMB_EXPORT int nvmlDeviceGetTemperature(void* handle, unsigned, unsigned* degrees) {
  // A degree more for each device before it, so that readings tell whose they are.
  *degrees = 20 + static_cast<unsigned>(static_cast<int*>(handle) - devices.data());
  return 0;
}
PLUMB_EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(
    void*, unsigned* count, plumb::cuda::abi::ManagementCalls::Process* list) {
  if (list == nullptr || *count == 0) {
    *count = 1;
    return plumb::cuda::abi::kManagementInsufficientSize;
  }
  *count = 1;
  list[0] = {static_cast<unsigned>(getpid()), 0, 0, 0};
  return 0;
}
PLUMB_EXPORT int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) {
  *milliwatts = 1000;
  return 0;
}
PLUMB_EXPORT int nvmlDeviceGetTotalEnergyConsumption(void*, unsigned long long* energy) {
  *energy = millijoules += 1;
  return 0;
}
PLUMB_EXPORT int nvmlDeviceGetCurrentClocksEventReasons(void*, unsigned long long* reasons) {
  *reasons = 0;
  return 0;
}
PLUMB_EXPORT int nvmlDeviceGetTotalEccErrors(void*, int, int, unsigned long long*) {
  return kNotSupported;
}
PLUMB_EXPORT int nvmlEventSetCreate(void** set) {
  *set = &events;
  return 0;
}
PLUMB_EXPORT int nvmlEventSetFree(void*) {
  return 0;
}
PLUMB_EXPORT int nvmlDeviceRegisterEvents(void*, unsigned long long, void*) {
  return 0;
}
PLUMB_EXPORT int nvmlEventSetWait_v2(void*, plumb::cuda::abi::ManagementCalls::Event*, unsigned) {
  return kTimeout;
}
