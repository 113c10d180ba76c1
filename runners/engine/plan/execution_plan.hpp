// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/base/units.hpp"

namespace plumb::engine {

/// One piece of memory that a plan needs, once for each slot. Backends add its layout.
struct PlanBuffer {
  enum class Role { kInput, kOutput, kIntermediate };
  Role role = Role::kInput;
  std::size_t operand = 0;  ///< index into the layer's inputs or outputs; of a model: its operands
  bool updated = false;     ///< an input that the plan also writes: an output takes its place
  bool weight = false;      ///< a constant operand, or made of such: each slot has its own
  std::size_t bytes = 0;    ///< to allocate, padding included; 0: an operand left out
  std::optional<std::size_t>
      arena;  ///< of an intermediate: its offset in the plan's shared block; absent: own memory
};

/// Plan of a layer or a model: what to allocate and what to run, in order.
template <typename BufferType, typename StepType>
struct ExecutionPlan {
  using Buffer = BufferType;  ///< a PlanBuffer
  using Step = StepType;

  std::string implementation;
  std::vector<Buffer> buffers;
  std::vector<std::size_t>
      outputs;  ///< buffer of each output; a view's output is its input's buffer
  std::vector<Step> steps;
  std::size_t workspace_bytes = 0;  ///< one for all slots and all steps of a lane or stream
  std::size_t arena_bytes = 0;      ///< of each slot's block for the buffers with `arena`
  Seconds creation{};               ///< to make the steps, caches off
};

/// Error for a layer that cannot be executed here, with the reason. It becomes an Outcome in the
/// backend and never leaves it.
class Unsupported : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace plumb::engine
