// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/worker/protocol/backend.hpp"
#include "runners/cuda/driver/driver.hpp"
#include "runners/cuda/observe/kernel_attributes.hpp"
#include "runners/cuda/observe/profiler_abi.hpp"

namespace plumb::cuda {

/// NVIDIA's profiling library (CUPTI), loaded by name.
class ProfilerLibrary {
 public:
  /// Loads the library. Throws Error{kEnvironment} that says where the library comes from.
  ProfilerLibrary();

  /// Finds an entry point by name. Throws Error{kEnvironment} if the library has none.
  template <typename Function>
  void find(Function& function, const char* name) const {
    library_.find(function, name);
  }

  /// Throws Error{kEnvironment} unless the status is success. The error says what was tried, the
  /// library's message, and what helps.
  void check(int status, const char* what) const;

  [[nodiscard]] std::string version() const;  ///< "CUPTI 130001 (libcupti.so.13)"

 private:
  DynamicLibrary library_;
  abi::ProfilerCalls::Texts calls_;
};

/// Recorder of kernel launches through NVIDIA's profiling library (CUPTI). Once it exists, the
/// times of this process are not those of a process without it, and none counts. The library takes
/// one tracer a process. Not thread-safe.
class KernelTracer {
 public:
  /// One launch of a kernel as the profiler recorded it.
  struct Record : GraphContents::Kernel {
    std::uint32_t stream = 0;
    std::uint64_t begin = 0;  ///< nanoseconds of the GPU's clock
    std::uint64_t end = 0;
  };

  /// Starts recording. Throws Error{kEnvironment} that says why it cannot: no library, no driver,
  /// no permission, or another profiler in the process.
  KernelTracer();
  ~KernelTracer();
  KernelTracer(const KernelTracer&) = delete;
  KernelTracer& operator=(const KernelTracer&) = delete;
  KernelTracer(KernelTracer&&) = delete;
  KernelTracer& operator=(KernelTracer&&) = delete;

  /// Returns the launches while `work` ran. The GPU must have finished all of the work when `work`
  /// returns. Earlier launches are forgotten. At most kMaxRecords are returned, and the rest is
  /// dropped.
  [[nodiscard]] std::vector<Record> record(const std::function<void()>& work);
  static constexpr std::size_t kMaxRecords = 100'000;

  [[nodiscard]] std::string version() const { return library_.version(); }

 private:
  ProfilerLibrary library_;
  abi::ProfilerCalls calls_;
};

/// Reads the front of a record. Absent: too short, of another kind, or with values that no kernel
/// has. The name it points to must be readable; at most 4 KiB of it are taken.
[[nodiscard]] std::optional<KernelTracer::Record> parse_kernel_record(
    std::span<const std::byte> bytes);

/// Summarises the launches of `executions` executions, in any order. Attributes are those of one
/// execution (kernel_attributes()). Readings are "kernel_seconds" of an execution and
/// "kernel.N_seconds" of its first launches. "launch_gap_seconds" is the time from one launch's end
/// to the next one's begin on the same stream (below zero: they overlap).
///
/// Where not every execution has the same kernels, "kernel_seconds" is their mean, the only time of
/// kernels. Attributes are then those of all executions together.
[[nodiscard]] worker::Program::Observation trace_observation(
    std::vector<KernelTracer::Record> records, std::size_t executions);

/// Walks a buffer that the profiler filled, record by record as `next` finds them, and returns
/// those of kernels. A record that does not lie in the buffer as a whole ends the walk.
[[nodiscard]] std::vector<KernelTracer::Record> kernel_records(std::span<std::uint8_t> buffer,
                                                               int (*next)(std::uint8_t*,
                                                                           std::size_t,
                                                                           void**),
                                                               std::size_t most);

}  // namespace plumb::cuda
