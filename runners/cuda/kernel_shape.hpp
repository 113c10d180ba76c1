// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "harness/results/attributes.hpp"

namespace plumb::cuda {

/// Is the launch of a kernel, without its times.
struct KernelShape {
  std::string name;
  std::array<std::int32_t, 3> grid{};
  std::array<std::int32_t, 3> block{};
  std::uint32_t registers = 0;      ///< a thread
  std::int64_t static_shared = 0;   ///< bytes a block
  std::int64_t dynamic_shared = 0;  ///< bytes a block

  bool operator==(const KernelShape&) const = default;
};

/// Says what one execution launches. The attribute "kernels" is a JSON list of the launches in
/// order, with name, grid, block, registers and shared memory. Where there are more than
/// kMostKernels, each different launch stands there once, with how many "launches" are like it (at
/// most kMostKernels too; "kernels_omitted" says how many more). Then "kernel_launches" of them
/// all, and what their names say of tensor cores. Nothing if nothing is launched.
[[nodiscard]] Attributes kernel_attributes(std::span<const KernelShape> launches);
inline constexpr std::size_t kMostKernels = 32;

/// Bounds a name as the driver or the profiler gives it, in bytes.
inline constexpr std::size_t kLongestKernelName = 4096;

}  // namespace plumb::cuda
