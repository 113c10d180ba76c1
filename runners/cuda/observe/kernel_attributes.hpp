// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/results/measurement.hpp"
#include "runners/cuda/driver/driver_abi.hpp"

namespace plumb::cuda {

/// Evidence of whether a variant uses tensor cores.
struct TensorCoreEvidence {
  std::optional<std::uint64_t> product_flags;  ///< cuBLASLt's, of how an algorithm computes
  std::optional<std::vector<std::string>> engine_notes;  ///< cuDNN's numerical notes of an engine
  std::vector<std::string> kernels;  ///< names of those that were launched; empty: unknown
};

/// Returns the attributes that say whether tensor cores are used. cuBLASLt's flags decide, else
/// cuDNN's notes, else the kernels' names. "tensor_cores" is "yes", "no" or "unknown", and
/// "tensor_cores.source" says what decided. Where there are names, "tensor_cores.names" has their
/// verdict and "tensor_cores.benanza" that of the paper's expression, whatever decided.
[[nodiscard]] results::Attributes tensor_core_attributes(const TensorCoreEvidence& evidence);

/// Removes the decision from `seen` if flags or notes decided before.
void keep_decision(results::Attributes& seen, const results::Attributes& known);

/// Adds to a decision by counters the earlier one by flags or notes. "tensor_cores.declared" is
/// "yes by cuDNN's notes". Nothing is added if either says nothing.
void keep_declaration(results::Attributes& counted, const results::Attributes& known);

/// Returns the attributes of built-in kernels. No built-in kernel uses tensor cores.
[[nodiscard]] results::Attributes builtin_kernel_attributes();

/// Returns whether a kernel uses tensor cores, according to its name. Patterns of ordinary cores
/// are tried first, then patterns of tensor cores. Absent: the name matches neither.
[[nodiscard]] std::optional<bool> tensor_cores_by_name(std::string_view kernel);

/// Returns whether a kernel uses tensor cores by the rule of Benanza (Li et al. 2020, §III-D5). The
/// rule is that `_[ish]\d+` occurs in the name.
[[nodiscard]] bool benanza_tensor_cores(std::string_view kernel);

/// Returns the names of cuBLASLt's numerical flags: "HMMA,ACCUMULATOR_32F,INPUT_16F". Unknown ones
/// are in hexadecimal.
[[nodiscard]] std::string flags_text(std::uint64_t flags);

/// Largest number of launches of which an attribute tells.
inline constexpr std::size_t kMaxKernels = 32;

/// Longest name that is taken from the driver or the profiler, in bytes.
inline constexpr std::size_t kLongestKernelName = 4096;

/// Kernel launches that a captured graph would execute, and its nodes counted by type.
struct GraphContents {
  /// Launch of a kernel, without its times.
  struct Kernel {
    std::string name;
    std::array<std::int32_t, 3> grid{};
    std::array<std::int32_t, 3> block{};
    std::uint32_t registers = 0;      ///< for each thread
    std::int64_t static_shared = 0;   ///< bytes for each block
    std::int64_t dynamic_shared = 0;  ///< bytes for each block

    bool operator==(const Kernel&) const = default;
  };

  std::vector<Kernel> kernels;               ///< in an order in which they can be executed
  std::map<std::string, std::size_t> nodes;  ///< by type: "kernel", "copy", "set"…
};

/// Returns the attributes of the kernel launches of one execution. Nothing if nothing is launched.
/// "kernels" is a JSON list of the launches in order, with name, grid, block, registers and shared
/// memory. If there are more than kMaxKernels launches, the list has each different launch once,
/// with the number of equal "launches". That list also has at most kMaxKernels entries;
/// "kernels_omitted" is the number of the others. "kernel_launches" is the number of all launches.
/// Further attributes say what the kernels' names reveal about tensor cores.
[[nodiscard]] results::Attributes kernel_attributes(
    std::span<const GraphContents::Kernel> launches);

/// Reads the nodes of a captured graph and of the graphs within it. No profiler is needed, and
/// nothing is executed. Throws DynamicLibrary::Refusal if the driver is too old or refuses, or for
/// more than kMaxNodes nodes.
[[nodiscard]] GraphContents read_contents(const abi::DriverCalls::Graphs& calls, abi::Graph graph);

/// Returns the attributes of one execution: kernel_attributes(), and "graph_nodes" by type
/// ("kernel=3;set=1").
[[nodiscard]] results::Attributes graph_attributes(const GraphContents& contents);

/// Orders `count` nodes so that each follows the nodes from which an edge leads to it. Otherwise
/// they stand in the order in which they were made. Throws DynamicLibrary::Refusal if an edge is of
/// no such node, or if edges form a cycle. Pure.
[[nodiscard]] std::vector<std::size_t> execution_order(
    std::size_t count, std::span<const std::pair<std::size_t, std::size_t>> edges);

/// Largest number of nodes that are read of a graph.
inline constexpr std::size_t kMaxNodes = 100'000;
inline constexpr int kDeepestGraph = 8;  ///< graphs within graphs

}  // namespace plumb::cuda
