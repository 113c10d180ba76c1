// SPDX-License-Identifier: Apache-2.0
// Entry points of libcuda.so.1: the device, contexts and errors.
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "tests/support/cuda_driver/export.hpp"

namespace plumb::stand_in {
namespace {

constexpr const char* kName = "Plumbline test double (no GPU)";
constexpr std::size_t kUuidOfDevice = 11;  // its byte that tells the doubles of a process apart

int attribute_of(abi::DriverCalls::DeviceAttribute name) {
  using Attribute = abi::DriverCalls::DeviceAttribute;
  switch (name) {
    case Attribute::kClockRate:
    case Attribute::kMemoryClockRate:
      return 1'000'000;
    case Attribute::kMultiprocessors:
      return 4;
    case Attribute::kMemoryBusWidth:
      return 64;
    case Attribute::kL2CacheSize:
      return 1 << 18;
    case Attribute::kComputeMajor:
      return 9;
    case Attribute::kComputeMinor:
      return 0;
    default:
      return 0;
  }
}

/// Returns the status of a call that names a device.
int status_of(abi::Device device) {
  return device >= 0 && device < machine().devices ? kSuccess : kInvalidDevice;
}

}  // namespace
}  // namespace plumb::stand_in

using namespace plumb::stand_in;  // NOLINT: the entry points have no namespace

PLUMB_EXPORT int cuInit(unsigned flags) {
  Call call("cuInit", false);
  if (call.status() != kSuccess) {
    return call.status();
  }
  machine().started = true;
  return flags == 0 ? kSuccess : kInvalidValue;
}

PLUMB_EXPORT int cuDriverGetVersion(int* version) {
  *version = 13000;
  return kSuccess;
}

PLUMB_EXPORT int cuGetErrorName(int status, const char** name) {
  *name = status_name(status);
  return *name != nullptr ? kSuccess : kInvalidValue;
}

PLUMB_EXPORT int cuGetErrorString(int status, const char** text) {
  *text = status_name(status) != nullptr ? "said by the stand-in of the CUDA driver" : nullptr;
  return *text != nullptr ? kSuccess : kInvalidValue;
}

PLUMB_EXPORT int cuDeviceGetCount(int* count) {
  const Call call("cuDeviceGetCount", false);
  *count = machine().devices;
  return call.status();
}

PLUMB_EXPORT int cuDeviceGet(abi::Device* device, int ordinal) {
  const Call call("cuDeviceGet", false);
  *device = ordinal;
  return call.status() != kSuccess ? call.status() : status_of(ordinal);
}

PLUMB_EXPORT int cuDeviceGetName(char* name, int length, abi::Device device) {
  const Call call("cuDeviceGetName", false);
  if (const int status = status_of(device); status != kSuccess) {
    return status;
  }
  std::strncpy(name, kName, static_cast<std::size_t>(std::max(length, 0)));
  return call.status();
}

PLUMB_EXPORT int cuDeviceGetUuid_v2(abi::Uuid* uuid, abi::Device device) {
  const Call call("cuDeviceGetUuid_v2", false);
  if (const int status = status_of(device); status != kSuccess) {
    return status;
  }
  // Each process has doubles of its own, so that tests do not wait for each other's lock. A script
  // may give them a serial number, so that processes share them.
  uuid->fill(0xdd);
  const unsigned serial = machine().serial.value_or(static_cast<unsigned>(getpid()));
  std::memcpy(uuid->data() + uuid->size() - sizeof serial, &serial, sizeof serial);
  uuid->at(kUuidOfDevice) = static_cast<unsigned char>(device);
  return call.status();
}

PLUMB_EXPORT int cuDeviceGetAttribute(int* value,
                                      abi::DriverCalls::DeviceAttribute name,
                                      abi::Device device) {
  const Call call("cuDeviceGetAttribute", false);
  if (const int status = status_of(device); status != kSuccess) {
    return status;
  }
  *value = name == abi::DriverCalls::DeviceAttribute::kPciBus ? device : attribute_of(name);
  return call.status();
}

PLUMB_EXPORT int cuDeviceTotalMem_v2(std::size_t* bytes, abi::Device device) {
  const Call call("cuDeviceTotalMem_v2", false);
  if (const int status = status_of(device); status != kSuccess) {
    return status;
  }
  *bytes = machine().memory.capacity();
  return call.status();
}

PLUMB_EXPORT int cuDevicePrimaryCtxRetain(abi::Context* context, abi::Device device) {
  const Call call("cuDevicePrimaryCtxRetain", false);
  if (call.status() != kSuccess) {
    return call.status();
  }
  if (const int status = status_of(device); status != kSuccess) {
    return status;
  }
  if (machine().references > 0 && machine().device != device) {
    machine().findings.add("context", "one process retains the contexts of two devices");
    return kInvalidDevice;
  }
  machine().device = device;
  *context = machine().retain_context();
  return kSuccess;
}

PLUMB_EXPORT int cuDevicePrimaryCtxRelease_v2(abi::Device device) {
  const Call call("cuDevicePrimaryCtxRelease_v2", false);
  if (call.status() != kSuccess) {
    return call.status();
  }
  if (machine().references == 0 || machine().device != device) {
    // "Releasing a primary context that has not been previously retained will fail with
    // CUDA_ERROR_INVALID_CONTEXT."
    machine().findings.add("context", "the primary context is released more often than retained");
    return kInvalidContext;
  }
  machine().release_context();
  return kSuccess;
}

PLUMB_EXPORT int cuCtxSetCurrent(abi::Context context) {
  const Call call("cuCtxSetCurrent", false);
  return call.status() != kSuccess ? call.status() : machine().set_current(context);
}

PLUMB_EXPORT int cuCtxSynchronize() {
  Call call("cuCtxSynchronize");
  return call.status() != kSuccess ? call.status() : machine().synchronize_all(call.lock());
}
