// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "harness/results/attributes.hpp"

namespace plumb::cuda {

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
