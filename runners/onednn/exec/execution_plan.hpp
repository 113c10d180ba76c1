// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "runners/engine/exec/schedule.hpp"
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
  /// Link from an argument of the primitive to a buffer of the plan. Until a plan has buffers,
  /// arguments are linked to operands of the layer, by `Argument` below.
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

/// Returns whether both descriptors place the elements at the same positions in memory. Strides of
/// extents of 1 do not count.
[[nodiscard]] bool same_bytes(const dnnl::memory::desc& a, const dnnl::memory::desc& b);

/// Layout in which a model's value lies. Two empty descriptors mean dense, in the value's own
/// dimensions.
struct ValueLayout {
  /// Transposition that keeps the order in which dimensions lie. The dimensions that move share the
  /// places in memory that they had, in the order of the result.
  struct StridedTranspose {
    dnnl::memory::desc from;    ///< the source's bytes in the result's dimensions
    dnnl::memory::desc layout;  ///< of the result
  };

  dnnl::memory::desc view;    ///< the dense value in the dimensions of the step that made it
  dnnl::memory::desc layout;  ///< as it lies in memory

  /// Returns whether the bytes are the dense value's.
  [[nodiscard]] bool dense() const { return same_bytes(view, layout); }
  /// Returns whether the elements lie without gaps, in whatever order.
  [[nodiscard]] bool packed() const { return layout.get_size() == view.get_size(); }
};

/// Returns whether a value lies in a permuted order of its own dimensions, `dims`. It has no blocks
/// and no gaps, and the order is not the dense one. Channels last is an example.
[[nodiscard]] bool lies_strided(const ValueLayout& held, const dnnl::memory::dims& dims);

/// Describes the same bytes under other extents. Returns nothing if neighbouring elements under the
/// new extents lie apart.
[[nodiscard]] std::optional<dnnl::memory::desc> reshaped(const dnnl::memory::desc& layout,
                                                         const dnnl::memory::dims& dims);
/// Plans the transposition result[i] = source[perm[i]] over the dimensions of a strided source.
[[nodiscard]] ValueLayout::StridedTranspose strided_transpose(const dnnl::memory::desc& source,
                                                              std::span<const std::int64_t> perm);

}  // namespace plumb::onednn
