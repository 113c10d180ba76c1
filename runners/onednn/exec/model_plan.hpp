// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/model/graph/graph.hpp"
#include "harness/worker/protocol/backend.hpp"
#include "runners/onednn/exec/execution_plan.hpp"

namespace plumb::onednn {

/// Buffers of its plan that a step reads and writes. A buffer may be among both.
struct StepBuffers {
  std::vector<std::size_t> reads;
  std::vector<std::size_t> writes;
};

/// Plan of a whole model, with the origin of its steps.
struct ModelPlan {
  ExecutionPlan plan;                       ///< its buffers' operands are indices into `operands`
  std::vector<worker::StepOrigin> origins;  ///< of plan.steps, one to one
  std::vector<StepBuffers> uses;            ///< of plan.steps, one to one
  std::vector<std::string> variants;        ///< of the graph's layers, one to one; empty: no step
  std::vector<model::ValueId> operands;
  std::size_t reorders = 0;  ///< steps that only change a layout
  Bytes reordered;           ///< that they read and write
};

}  // namespace plumb::onednn
