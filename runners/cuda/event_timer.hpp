// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "harness/results/environment.hpp"
#include "runners/cuda/device_context.hpp"
#include "runners/cuda/device_stream.hpp"
#include "runners/cuda/kernel_library.hpp"

namespace plumb::cuda {

/// Times pairs of events with nothing between, one after the other: what a pair shows too much.
[[nodiscard]] std::vector<Seconds> empty_event_pairs(const DeviceStream& stream,
                                                     const Driver& driver,
                                                     std::size_t count);

/// Returns the smallest difference between any two times: the step of the clock that took them.
/// Absent: all are equal. Pure.
[[nodiscard]] std::optional<Seconds> smallest_step(std::vector<Seconds> times);

/// Times graphs of so many of the smallest kernel there is of ours, between two events each.
/// Throws Unsupported where there is no compiler for it.
[[nodiscard]] std::vector<Seconds> null_graph_times(const DeviceContext& context,
                                                    const DeviceStream& stream,
                                                    KernelLibrary& kernels,
                                                    std::size_t nodes,
                                                    std::size_t samples);

/// Measures what times on this GPU rest on: "measure.event_tick_seconds",
/// "measure.event_pair_seconds", and of graphs of one null kernel and of many
/// "measure.null_graph_seconds" and "measure.null_graph_node_seconds" (the slope). Takes some tens
/// of milliseconds.
[[nodiscard]] Facts event_timer_facts(const DeviceContext& context);

}  // namespace plumb::cuda
