// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "runners/cuda/kernel_trace.hpp"
#include "runners/cuda/profiler_abi.hpp"
#include "runners/cuda/profiler_library.hpp"

namespace plumb::cuda {

/// Records the launches of kernels through NVIDIA's profiling library (CUPTI). From then on times
/// of this process are not those of a process without: nothing is measured in it that counts. The
/// library takes one tracer a process. Not thread-safe.
class KernelTracer {
 public:
  /// Throws Error{kEnvironment} that says why there is none: no library, no driver, no permission,
  /// or another profiler in the process.
  KernelTracer();
  ~KernelTracer();
  KernelTracer(const KernelTracer&) = delete;
  KernelTracer& operator=(const KernelTracer&) = delete;
  KernelTracer(KernelTracer&&) = delete;
  KernelTracer& operator=(KernelTracer&&) = delete;

  /// Returns what was launched while `work` ran, which must end with the GPU having done all of it;
  /// what was launched before is forgotten. At most kMostRecords; the rest is dropped.
  [[nodiscard]] std::vector<KernelRecord> record(const std::function<void()>& work);
  static constexpr std::size_t kMostRecords = 100'000;

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
