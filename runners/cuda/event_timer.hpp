// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "harness/results/run.hpp"
#include "runners/cuda/driver/device.hpp"
#include "runners/cuda/driver/device_stream.hpp"
#include "runners/cuda/exec/kernel_library.hpp"

namespace plumb::cuda {

/// Times empty pairs of events, one pair after another. Such a time is what every pair shows in
/// excess.
[[nodiscard]] std::vector<Seconds> empty_event_pairs(const DeviceStream& stream,
                                                     const Driver& driver,
                                                     std::size_t count);

/// Returns the smallest difference between two of the times, which is the step of their clock.
/// Differences up to a picosecond are rounding and do not count. Absent: all are equal. Pure.
[[nodiscard]] std::optional<Seconds> smallest_step(std::vector<Seconds> times);

/// Times launches of a graph of `nodes` null kernels, each between two events. The null kernel is
/// the smallest built-in one. Throws Unsupported where there is no compiler for it.
[[nodiscard]] std::vector<Seconds> null_graph_times(const DeviceContext& context,
                                                    const DeviceStream& stream,
                                                    KernelLibrary& kernels,
                                                    std::size_t nodes,
                                                    std::size_t samples);

/// Measures the timer of this GPU, and returns the results as facts. "measure.event_tick_seconds"
/// is its step, "measure.event_pair_seconds" the median of an empty pair of events.
/// "measure.null_graph_seconds" is the median of a graph of one null kernel, and
/// "measure.null_graph_node_seconds" the slope to graphs of many. Takes some tens of milliseconds.
[[nodiscard]] results::Facts event_timer_facts(const DeviceContext& context);

}  // namespace plumb::cuda
