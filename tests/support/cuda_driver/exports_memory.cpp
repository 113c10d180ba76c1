// SPDX-License-Identifier: Apache-2.0
// Entry points of libcuda.so.1: memory and copies. What a capture forbids follows
// cuThreadExchangeStreamCaptureMode(): "some actions, such as a call to cudaMalloc, may be unsafe".
#include <bit>
#include <cstring>
#include <vector>

#include "tests/support/cuda_driver/export.hpp"
#include "tests/support/cuda_driver/kernel_runner.hpp"

namespace plumb::stand_in {
namespace {

void* pointer(std::uint64_t address) {
  return std::bit_cast<void*>(address);
}

Operation copy_in(std::uint64_t to, const void* from, std::size_t bytes) {
  return {WorkKind::kCopy,
          "a copy to the device",
          [to, from, bytes](AccessLog& log) {
            const int status = note_range(log, to, bytes, true);
            if (status == kSuccess) {
              std::memcpy(pointer(to), from, bytes);
            }
            return status;
          },
          nullptr};
}

/// Copies bytes that the call has already read.
Operation staged_copy_in(std::uint64_t to, const void* from, std::size_t bytes) {
  const auto* const begin = static_cast<const std::byte*>(from);
  const auto staged = std::make_shared<std::vector<std::byte>>(begin, begin + bytes);
  return {WorkKind::kCopy,
          "a copy to the device from pageable memory",
          [to, staged](AccessLog& log) {
            const int status = note_range(log, to, staged->size(), true);
            if (status == kSuccess) {
              std::memcpy(pointer(to), staged->data(), staged->size());
            }
            return status;
          },
          nullptr};
}

Operation copy_out(void* to, std::uint64_t from, std::size_t bytes) {
  return {WorkKind::kCopy,
          "a copy to the host",
          [to, from, bytes](AccessLog& log) {
            const int status = note_range(log, from, bytes, false);
            if (status == kSuccess) {
              std::memcpy(to, pointer(from), bytes);
            }
            return status;
          },
          nullptr};
}

}  // namespace
}  // namespace plumb::stand_in

using namespace plumb::stand_in;  // NOLINT: the entry points have no namespace

PLUMB_EXPORT int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  PLUMB_CALL("cuMemGetInfo_v2");
  *total = device.memory.capacity();
  *free = *total - device.memory.used();
  return kSuccess;
}

PLUMB_EXPORT int cuMemAlloc_v2(std::uint64_t* address, std::size_t bytes) {
  PLUMB_UNSAFE_CALL("cuMemAlloc_v2");
  if (bytes == 0) {
    return kInvalidValue;  // "If bytesize is 0, cuMemAlloc() returns CUDA_ERROR_INVALID_VALUE"
  }
  *address = device.memory.allocate(bytes);
  return *address != 0 ? kSuccess : kOutOfMemory;
}

PLUMB_EXPORT int cuMemFree_v2(std::uint64_t address) {
  PLUMB_UNSAFE_CALL("cuMemFree_v2");
  // cuMemFree() only "may perform implicit synchronization": a program must not rely on it.
  if (!device.memory.release(address)) {
    device.findings.add("free", "memory is freed that is not allocated");
    return kInvalidValue;
  }
  return kSuccess;
}

PLUMB_EXPORT int cuMemAllocHost_v2(void** address, std::size_t bytes) {
  PLUMB_UNSAFE_CALL("cuMemAllocHost_v2");
  if (bytes == 0) {
    return kInvalidValue;
  }
  *address = device.host_memory.allocate(bytes);
  return *address != nullptr ? kSuccess : kOutOfMemory;
}

PLUMB_EXPORT int cuMemFreeHost(void* address) {
  PLUMB_UNSAFE_CALL("cuMemFreeHost");
  if (device.host_memory.guarded(address)) {
    device.findings.add("host-memory",
                        "page-locked memory is freed while a copy that nobody waited for uses it");
    if (const int status = device.synchronize_all(call.lock()); status != kSuccess) {
      return status;
    }
  }
  if (!device.host_memory.release(address)) {
    device.findings.add("free", "host memory is freed that is not page-locked");
    return kInvalidValue;
  }
  return kSuccess;
}

/// "API synchronization behavior", Memcpy, Synchronous: "For transfers from pageable host memory to
/// device memory, a stream sync is performed before the copy is initiated. The function will return
/// once the pageable buffer has been copied to the staging memory for DMA transfer to device
/// memory, but the DMA to final destination may not have completed."
PLUMB_EXPORT int cuMemcpyHtoD_v2(std::uint64_t to, const void* from, std::size_t bytes) {
  PLUMB_UNSAFE_CALL("cuMemcpyHtoD_v2");
  if (bytes == 0) {
    return kSuccess;
  }
  if (!device.memory.valid(to, bytes)) {
    return kInvalidValue;
  }
  if (const std::byte* const alias = device.host_memory.alias(from, bytes)) {
    // "For transfers from pinned host memory to device memory, the function is synchronous with
    // respect to the host."
    if (const int status = device.enqueue(*device.legacy, copy_in(to, alias, bytes)); status != 0) {
      return status;
    }
    return device.synchronize(call.lock(), *device.legacy);
  }
  return device.enqueue(*device.legacy, staged_copy_in(to, from, bytes));
}

/// "For transfers from device to either pageable or pinned host memory, the function returns only
/// once the copy has completed."
PLUMB_EXPORT int cuMemcpyDtoH_v2(void* to, std::uint64_t from, std::size_t bytes) {
  PLUMB_UNSAFE_CALL("cuMemcpyDtoH_v2");
  if (bytes == 0) {
    return kSuccess;
  }
  if (!device.memory.valid(from, bytes)) {
    return kInvalidValue;
  }
  std::byte* const alias = device.host_memory.alias(to, bytes);
  if (const int status =
          device.enqueue(*device.legacy, copy_out(alias != nullptr ? alias : to, from, bytes));
      status != kSuccess) {
    return status;
  }
  return device.synchronize(call.lock(), *device.legacy);
}

PLUMB_EXPORT int cuMemcpyHtoDAsync_v2(std::uint64_t to,
                                      const void* from,
                                      std::size_t bytes,
                                      void* stream) {
  PLUMB_CALL("cuMemcpyHtoDAsync_v2");
  Stream* const target = device.stream_of(stream);
  if (target == nullptr) {
    return kInvalidHandle;
  }
  if (!device.memory.valid(to, bytes)) {
    return kInvalidValue;
  }
  const std::byte* const alias = device.host_memory.alias(from, bytes);
  // "For transfers from pageable host memory to device memory, host memory is copied to a staging
  // buffer immediately (no device synchronization is performed)."
  Operation copy = alias != nullptr ? copy_in(to, alias, bytes) : staged_copy_in(to, from, bytes);
  copy.host = alias != nullptr ? from : nullptr;
  return device.enqueue(*target, std::move(copy));
}

PLUMB_EXPORT int cuMemcpyDtoHAsync_v2(void* to,
                                      std::uint64_t from,
                                      std::size_t bytes,
                                      void* stream) {
  PLUMB_CALL("cuMemcpyDtoHAsync_v2");
  Stream* const target = device.stream_of(stream);
  if (target == nullptr) {
    return kInvalidHandle;
  }
  if (!device.memory.valid(from, bytes)) {
    return kInvalidValue;
  }
  std::byte* const alias = device.host_memory.alias(to, bytes);
  Operation copy = copy_out(alias != nullptr ? alias : to, from, bytes);
  copy.host = alias != nullptr ? to : nullptr;
  copy.writes_host = true;
  const int status = device.enqueue(*target, std::move(copy));
  // "For transfers between device memory and pageable host memory, the function will return only
  // once the copy has completed."
  return status != kSuccess || alias != nullptr || device.capturing(*target)
             ? status
             : device.synchronize(call.lock(), *target);
}

PLUMB_EXPORT int cuMemcpyDtoDAsync_v2(std::uint64_t to,
                                      std::uint64_t from,
                                      std::size_t bytes,
                                      void* stream) {
  PLUMB_CALL("cuMemcpyDtoDAsync_v2");
  Stream* const target = device.stream_of(stream);
  if (target == nullptr) {
    return kInvalidHandle;
  }
  if (!device.memory.valid(to, bytes) || !device.memory.valid(from, bytes)) {
    return kInvalidValue;
  }
  return device.enqueue(*target,
                        {WorkKind::kCopy,
                         "a copy on the device",
                         [to, from, bytes](AccessLog& log) {
                           if (note_range(log, from, bytes, false) != kSuccess ||
                               note_range(log, to, bytes, true) != kSuccess) {
                             return static_cast<int>(kIllegalAddress);
                           }
                           std::memmove(pointer(to), pointer(from), bytes);
                           return static_cast<int>(kSuccess);
                         },
                         nullptr});
}

PLUMB_EXPORT int cuMemsetD8Async(std::uint64_t to,
                                 unsigned char value,
                                 std::size_t bytes,
                                 void* stream) {
  PLUMB_CALL("cuMemsetD8Async");
  Stream* const target = device.stream_of(stream);
  if (target == nullptr) {
    return kInvalidHandle;
  }
  if (!device.memory.valid(to, bytes)) {
    return kInvalidValue;
  }
  return device.enqueue(*target,
                        {WorkKind::kSet,
                         "a setting of bytes",
                         [to, value, bytes](AccessLog& log) {
                           const int status = note_range(log, to, bytes, true);
                           if (status == kSuccess) {
                             std::memset(pointer(to), value, bytes);
                           }
                           return status;
                         },
                         nullptr});
}
