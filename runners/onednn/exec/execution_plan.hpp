// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <oneapi/dnnl/dnnl.hpp>
#include <span>
#include <variant>
#include <vector>

#include "runners/engine/exec/step_order.hpp"
#include "runners/engine/plan/execution_plan.hpp"

namespace plumb::onednn {

using engine::Unsupported;

/// Function that writes an operand's elements in another order or number, as a buffer's `view`
/// describes them.
using Pack = std::function<void(const std::byte* operand, std::byte* packed)>;

/// One piece of memory of a plan. A weight may be prepacked.
struct Buffer : engine::PlanBuffer {
  dnnl::memory::desc view;  ///< the dense operand in the primitive's dimensions
  dnnl::memory::desc
      layout;  ///< as the primitive wants it; equal to `view`: bytes are copied unchanged
  Pack pack;   ///< of an input: makes what `view` describes; empty: not needed. Of an
               ///< intermediate: fills it once (with no operand)
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

/// Plan of a layer or a model. Its workspace is the library's scratchpad.
struct ExecutionPlan : engine::ExecutionPlan<Buffer, Step> {
  engine::BranchSchedule schedule;  ///< of steps that may run side by side; without lanes: one by
                                    ///< one
  int threads_of_lane = 1;          ///< that each lane's primitives are made for
};

/// Link from an argument of a primitive to an operand of the layer.
struct Argument {
  int index = 0;  ///< DNNL_ARG_…
  Buffer::Role role = Buffer::Role::kInput;
  std::size_t operand = 0;  ///< index into the spec's inputs or outputs
  bool weight = false;
  dnnl::memory::desc view;  ///< the dense operand in the primitive's dimensions
};

/// Returns a step of one plan as a step of another, larger plan. Buffer i of the first is buffer
/// map[i] of the second.
[[nodiscard]] Step mapped(const Step& step, const std::vector<std::size_t>& map);

}  // namespace plumb::onednn
