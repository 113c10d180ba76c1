// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "harness/base/units.hpp"
#include "harness/model/layer_spec.hpp"
#include "runners/engine/branch_schedule.hpp"

namespace plumb::onednn {

/// Writes an operand's elements in another order or number, as a buffer's `view` describes them.
using Pack = std::function<void(const std::byte* operand, std::byte* packed)>;

/// One piece of memory of a plan, allocated once a slot.
struct Buffer {
  enum class Role { kInput, kOutput, kIntermediate };
  Role role = Role::kInput;
  std::size_t operand = 0;  ///< index into the spec's inputs or outputs
  bool weight = false;      ///< a constant operand: each slot has its own, and it may be prepacked
  dnnl::memory::desc view;  ///< how the dense operand reads in the primitive's dimensions
  dnnl::memory::desc
      layout;  ///< how the primitive wants it; equal to `view`: bytes are copied as they are
  Pack pack;   ///< of an input: makes what `view` describes; empty: the operand is that. Of an
               ///< intermediate: fills it once (with no operand)
  std::size_t bytes = 0;  ///< to allocate: the layout's size, padding included
  std::optional<std::size_t>
      arena;  ///< of an intermediate: where it lies in the plan's one block; absent: by itself
};

/// Executes one primitive on some of the plan's buffers.
struct PrimitiveStep {
  struct Argument {
    int index = 0;  ///< DNNL_ARG_…
    std::size_t buffer = 0;
    dnnl::memory::desc layout;
    std::size_t offset = 0;  ///< bytes from the buffer's start (slices)
  };
  dnnl::primitive primitive;
  std::vector<Argument> arguments;
};

/// Runs one of our own kernels; it gets the address of every buffer of the plan, in order.
using KernelStep = std::function<void(std::span<std::byte* const> buffers)>;

using Step = std::variant<PrimitiveStep, KernelStep>;

/// Plan of a layer or a model, ready to be given memory: what to allocate and what to run, in
/// order.
struct LayerPlan {
  std::string implementation;
  std::vector<Buffer> buffers;
  std::vector<std::size_t>
      outputs;  ///< buffer that holds each output; a view's output is its input's buffer
  std::vector<Step> steps;
  std::size_t scratchpad_bytes = 0;
  std::size_t arena_bytes = 0;  ///< of the block, one a slot, that buffers with `arena` lie in
  Seconds creation{};           ///< making the primitives, cache off
  BranchSchedule schedule;      ///< of steps that may run side by side; without lanes: one by one
  int threads_of_lane = 1;      ///< that each lane's primitives are made for
};

}  // namespace plumb::onednn
