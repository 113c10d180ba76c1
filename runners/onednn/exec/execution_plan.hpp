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
#include "harness/model/key/layer_spec.hpp"
#include "runners/engine/exec/branch_schedule.hpp"

namespace plumb::onednn {

/// Function that writes an operand's elements in another order or number, as a buffer's `view`
/// describes them.
using Pack = std::function<void(const std::byte* operand, std::byte* packed)>;

/// One piece of memory of a plan, allocated once for each slot.
struct Buffer {
  enum class Role { kInput, kOutput, kIntermediate };
  Role role = Role::kInput;
  std::size_t operand = 0;  ///< index into the spec's inputs or outputs
  bool updated = false;     ///< an input that the plan also writes: an output takes its place
  bool weight = false;      ///< a constant operand: each slot has its own, and it may be prepacked
  dnnl::memory::desc view;  ///< the dense operand in the primitive's dimensions
  dnnl::memory::desc
      layout;  ///< as the primitive wants it; equal to `view`: bytes are copied unchanged
  Pack pack;   ///< of an input: makes what `view` describes; empty: not needed. Of an
               ///< intermediate: fills it once (with no operand)
  std::size_t bytes = 0;  ///< to allocate: the layout's size, padding included
  std::optional<std::size_t>
      arena;  ///< of an intermediate: its offset in the plan's shared block; absent: own memory
};

/// Step that executes one primitive on some of the plan's buffers.
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

/// Step that runs one built-in kernel. It gets the address of every buffer of the plan, in order.
using KernelStep = std::function<void(std::span<std::byte* const> buffers)>;

using Step = std::variant<PrimitiveStep, KernelStep>;

/// Plan of a layer or a model: what to allocate and what to run, in order.
struct ExecutionPlan {
  std::string implementation;
  std::vector<Buffer> buffers;
  std::vector<std::size_t>
      outputs;  ///< buffer of each output; a view's output is its input's buffer
  std::vector<Step> steps;
  std::size_t scratchpad_bytes = 0;
  std::size_t arena_bytes = 0;      ///< of each slot's block for the buffers with `arena`
  Seconds creation{};               ///< time to make the primitives, cache off
  engine::BranchSchedule schedule;  ///< of steps that may run side by side; without lanes: one by
                                    ///< one
  int threads_of_lane = 1;          ///< that each lane's primitives are made for
};

}  // namespace plumb::onednn
