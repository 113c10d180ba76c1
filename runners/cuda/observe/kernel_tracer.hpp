// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "runners/cuda/observe/kernel_trace.hpp"
#include "runners/cuda/observe/profiler_abi.hpp"
#include "runners/cuda/observe/profiler_library.hpp"

namespace plumb::cuda {

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
