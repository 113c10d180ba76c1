// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

/// Part of CUPTI's binary interface that the worker uses, as its headers document it. That is the
/// activity interface, and the front part of a kernel's record, which is the same in CUDA 12 and 13
/// (docs/adr/0007).
namespace plumb::cuda::abi {

inline constexpr int kProfilerSuccess = 0;
inline constexpr int kConcurrentKernel = 10;  // CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
inline constexpr std::uint32_t kFlushForced = 1;

/// Byte offsets of the fields in CUpti_ActivityKernel5 to 10.
struct KernelRecordLayout {
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

using RequestBuffer = void (*)(std::uint8_t**, std::size_t*, std::size_t*);
using CompleteBuffer = void (*)(void*, std::uint32_t, std::uint8_t*, std::size_t, std::size_t);

/// Entry points of CUPTI's activity interface, found by name.
struct ProfilerCalls {
  int (*register_callbacks)(RequestBuffer, CompleteBuffer) = nullptr;
  int (*enable)(int) = nullptr;
  int (*disable)(int) = nullptr;
  int (*flush)(std::uint32_t) = nullptr;
  int (*next_record)(std::uint8_t*, std::size_t, void**) = nullptr;
  int (*dropped)(void*, std::uint32_t, std::size_t*) = nullptr;
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

/// Entry points of CUPTI that tell its version and its words, found by name.
struct ProfilerTextCalls {
  int (*version)(std::uint32_t*) = nullptr;
  int (*result_text)(int, const char**) = nullptr;
};

/// Calls `visit(member, "cuptiName")` for every entry point.
template <typename Calls, typename Visit>
constexpr void for_each_profiler_text_call(Calls& calls, Visit visit) {
  visit(calls.version, "cuptiGetVersion");
  visit(calls.result_text, "cuptiGetResultString");
}

}  // namespace plumb::cuda::abi
