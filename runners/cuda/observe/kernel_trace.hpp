// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "harness/worker/protocol/backend.hpp"
#include "runners/cuda/observe/kernel_shape.hpp"

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

}  // namespace plumb::cuda
