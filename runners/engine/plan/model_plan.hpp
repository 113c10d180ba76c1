// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/base/units.hpp"
#include "harness/model/graph/graph.hpp"
#include "harness/worker/protocol/backend.hpp"
#include "runners/engine/plan/step_buffers.hpp"

namespace plumb::engine {

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
