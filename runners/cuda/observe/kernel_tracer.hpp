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
#include "runners/cuda/observe/kernel_attributes.hpp"
#include "runners/cuda/observe/profiler_abi.hpp"
#include "runners/cuda/observe/profiler_library.hpp"

namespace plumb::cuda {

/// One launch of a kernel as the profiler recorded it.
struct KernelRecord : KernelShape {
  std::uint32_t stream = 0;
  std::uint64_t begin = 0;  ///< nanoseconds of the GPU's clock
  std::uint64_t end = 0;
};

/// Reads the front of a record. Absent: too short, of another kind, or with values that no kernel
/// has. The name it points to must be readable; at most 4 KiB of it are taken.
[[nodiscard]] std::optional<KernelRecord> parse_kernel_record(std::span<const std::byte> bytes);

/// Summarises the launches of `executions` executions, in any order. Attributes are those of one
/// execution (kernel_attributes()). Readings are "kernel_seconds" of an execution and
/// "kernel.N_seconds" of its first launches. "launch_gap_seconds" is the time from one launch's end
/// to the next one's begin on the same stream (below zero: they overlap).
///
/// Where not every execution has the same kernels, "kernel_seconds" is their mean, the only time of
/// kernels. Attributes are then those of all executions together.
[[nodiscard]] worker::Observation trace_observation(std::vector<KernelRecord> records,
                                                    std::size_t executions);

/// Recorder of kernel launches through NVIDIA's profiling library (CUPTI). Once it exists, the
/// times of this process are not those of a process without it, and none counts. The library takes
/// one tracer a process. Not thread-safe.
class KernelTracer {
 public:
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
  [[nodiscard]] std::vector<KernelRecord> record(const std::function<void()>& work);
  static constexpr std::size_t kMaxRecords = 100'000;

  [[nodiscard]] std::string version() const { return library_.version(); }

 private:
  ProfilerLibrary library_;
  abi::ProfilerCalls calls_;
};

/// Walks a buffer that the profiler filled, record by record as `next` finds them, and returns
/// those of kernels. A record that does not lie in the buffer as a whole ends the walk.
[[nodiscard]] std::vector<KernelRecord> kernel_records(std::span<std::uint8_t> buffer,
                                                       int (*next)(std::uint8_t*,
                                                                   std::size_t,
                                                                   void**),
                                                       std::size_t most);

}  // namespace plumb::cuda
