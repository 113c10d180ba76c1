// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "harness/worker/backend.hpp"
#include "runners/cuda/kernel_shape.hpp"

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

/// Sums up the launches of `executions` executions, in any order: the attributes of one of them
/// (kernel_attributes()). Readings: "kernel_seconds" of an execution, "kernel.N_seconds" of its
/// first launches, "launch_gap_seconds" between one launch's end and the next one's begin (below
/// zero: they overlap). Launches that do not divide evenly are summed up by "kernel_seconds" alone,
/// as their mean.
[[nodiscard]] Observation trace_observation(std::vector<KernelRecord> records,
                                            std::size_t executions);

}  // namespace plumb::cuda
