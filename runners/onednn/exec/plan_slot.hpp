// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <oneapi/dnnl/dnnl.hpp>
#include <span>
#include <vector>

#include "harness/model/key/tensor.hpp"
#include "runners/onednn/exec/buffer_block.hpp"
#include "runners/onednn/exec/execution_plan.hpp"

namespace plumb::onednn {

/// Step of a plan with its arguments in one slot.
struct BoundStep {
  dnnl_primitive_t primitive = nullptr;  ///< null: `kernel`
  const KernelStep* kernel = nullptr;
  std::vector<dnnl_exec_arg_t> arguments;
};

/// One slot of a program, with memory of its own and prebuilt argument lists.
struct PlanSlot {
  BufferBlock owned;
  std::vector<std::byte*> buffers;  ///< of all the plan's buffers, owned or slot 0's
  std::vector<dnnl::memory> memories;
  std::vector<BoundStep> steps;
};

/// Returns whether a buffer holds its operand in another layout.
[[nodiscard]] bool is_reformatted(const Buffer& buffer);

/// Changes a layout, and waits.
void reorder(const dnnl::memory& from, const dnnl::memory& to, dnnl::stream& stream);

/// Lists the pieces of a slot's block: the arena, then buffers with memory of their own; without
/// what it shares with another slot.
[[nodiscard]] std::vector<std::size_t> block_sizes(const ExecutionPlan& plan,
                                                   bool shared_activations);

/// Finds the slot's buffers in its block, and fills those of operands and constants. The
/// activations are those of `shared`, if it is not null.
void fill_buffers(const ExecutionPlan& plan,
                  std::span<const model::Tensor> operands,
                  const PlanSlot* shared,
                  dnnl::stream& stream,
                  PlanSlot& slot);

/// Makes the argument lists of the steps. `scratchpads` has the scratchpad of each step, if the
/// plan needs any. The plan must outlive the slot.
void bind_steps(const ExecutionPlan& plan,
                std::span<std::byte* const> scratchpads,
                const dnnl::engine& engine,
                PlanSlot& slot);

}  // namespace plumb::onednn
