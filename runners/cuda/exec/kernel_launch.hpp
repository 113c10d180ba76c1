// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "runners/cuda/kernels/shapes.hpp"
#include "runners/engine/plan/model_plan.hpp"

namespace plumb::cuda {

/// One launch of a built-in kernel, as a value: code to compile, parameters, inputs and outputs.
/// Needs no device.
struct KernelLaunch {
  std::string call;                   ///< "map_one<relu_of, float, float, float>"
  std::string shape_type;             ///< "MapShape": the type in `shape`
  std::vector<std::byte> shape;       ///< one of kernels/shapes.hpp
  std::vector<std::size_t> operands;  ///< buffers of the plan, the outputs first
  unsigned blocks = 1;
  unsigned threads = 1;
  bool in_rows = false;                        ///< a block's threads wait for each other
  std::size_t outputs = 1;                     ///< how many of the operands it writes
  std::size_t updated = 0;                     ///< how many of those it also reads: the first
  unsigned addresses = kernels::kMaxOperands;  ///< that its kernel takes, used or not
};

/// Returns which of a plan's buffers a launch reads and writes. `buffers` maps its operands to the
/// plan's buffers.
[[nodiscard]] engine::StepBuffers buffers_of(const KernelLaunch& launch,
                                             const std::vector<std::size_t>& buffers);

/// Returns the name of a launch's kernel as the driver and profilers show it. An example is
/// "plumb_map_one_relu_of_float". It has at most 128 characters.
[[nodiscard]] std::string kernel_name(const KernelLaunch& launch);

/// Makes a launch of a kernel in which each thread works on one element per step.
template <typename Shape>
KernelLaunch element_launch(std::string call,
                            const char* shape_type,
                            const Shape& shape,
                            kernels::Index elements,
                            std::vector<std::size_t> operands) {
  constexpr kernels::Index kThreads = 256;
  constexpr kernels::Index kMaxBlocks = 1 << 20;  // beyond, each thread takes several steps
  KernelLaunch launch{std::move(call), shape_type, {}, std::move(operands), 1, kThreads};
  launch.shape.resize(sizeof shape);
  std::memcpy(launch.shape.data(), &shape, sizeof shape);
  const kernels::Index blocks = (elements + kThreads - 1) / kThreads;
  launch.blocks = static_cast<unsigned>(blocks < kMaxBlocks ? blocks : kMaxBlocks);
  return launch;
}

/// Makes a launch of a kernel in which each block works on one row at a time.
template <typename Shape>
KernelLaunch block_launch(std::string call,
                          const char* shape_type,
                          const Shape& shape,
                          kernels::Index rows,
                          std::vector<std::size_t> operands) {
  KernelLaunch launch = element_launch(std::move(call), shape_type, shape, 1, std::move(operands));
  constexpr kernels::Index kMaxBlocks = 1 << 20;
  launch.blocks = static_cast<unsigned>(rows < kMaxBlocks ? rows : kMaxBlocks);
  launch.threads = kernels::kThreadsOfRow;
  launch.in_rows = true;
  return launch;
}

/// Makes a launch as block_launch() does, for the rows of a RowShape.
inline KernelLaunch row_launch(std::string call,
                               const kernels::RowShape& shape,
                               std::vector<std::size_t> operands) {
  return block_launch(std::move(call), "RowShape", shape, shape.rows.count, std::move(operands));
}

/// Returns the source of a launch's entry point, which is called `name` and has C linkage.
[[nodiscard]] std::string entry_text(const KernelLaunch& launch, const std::string& name);

/// Returns the text of all kernels/ files, in an order in which they compile.
[[nodiscard]] std::string kernel_sources();

}  // namespace plumb::cuda
