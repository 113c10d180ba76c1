// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "harness/base/units.hpp"
#include "harness/model/graph/graph.hpp"
#include "harness/worker/protocol/backend.hpp"
#include "runners/engine/exec/step_order.hpp"

namespace plumb::engine {

/// Buffers of its plan that a step reads and writes. A buffer may be among both.
struct StepBuffers {
  std::vector<std::size_t> reads;
  std::vector<std::size_t> writes;
};

/// Returns the same buffers in another, larger plan. Buffer i of the first is buffer map[i] there.
[[nodiscard]] StepBuffers mapped(const StepBuffers& buffers, const std::vector<std::size_t>& map);

/// Returns, for each step, the earlier steps that it must follow, in ascending order. Those are the
/// steps that wrote what it uses last, or that read since then what it writes.
[[nodiscard]] StepNeeds step_needs(std::span<const StepBuffers> steps);

/// Returns the steps that use each buffer, in ascending order.
[[nodiscard]] std::map<std::size_t, std::vector<std::size_t>> buffer_users(
    std::span<const StepBuffers> steps);

/// Plan of a whole model, with the origin of its steps.
template <typename Plan>
struct ModelPlan {
  Plan plan;                                ///< its buffers' operands are indices into `operands`
  std::vector<worker::StepOrigin> origins;  ///< of plan.steps, one to one
  std::vector<StepBuffers> uses;            ///< of plan.steps, one to one
  std::vector<std::string> variants;        ///< of the graph's layers, one to one; empty: no step
  std::vector<model::ValueId> operands;
  std::size_t reorders = 0;  ///< steps that only change a layout
  Bytes reordered;           ///< that they read and write
};

}  // namespace plumb::engine
