// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/results/measurement.hpp"

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

/// Launch of a kernel, without its times.
struct KernelShape {
  std::string name;
  std::array<std::int32_t, 3> grid{};
  std::array<std::int32_t, 3> block{};
  std::uint32_t registers = 0;      ///< for each thread
  std::int64_t static_shared = 0;   ///< bytes for each block
  std::int64_t dynamic_shared = 0;  ///< bytes for each block

  bool operator==(const KernelShape&) const = default;
};

/// Returns the attributes of the kernel launches of one execution. Nothing if nothing is launched.
/// "kernels" is a JSON list of the launches in order, with name, grid, block, registers and shared
/// memory. If there are more than kMaxKernels launches, the list has each different launch once,
/// with the number of equal "launches". That list also has at most kMaxKernels entries;
/// "kernels_omitted" is the number of the others. "kernel_launches" is the number of all launches.
/// Further attributes say what the kernels' names reveal about tensor cores.
[[nodiscard]] results::Attributes kernel_attributes(std::span<const KernelShape> launches);
inline constexpr std::size_t kMaxKernels = 32;

/// Longest name that is taken from the driver or the profiler, in bytes.
inline constexpr std::size_t kLongestKernelName = 4096;

}  // namespace plumb::cuda
