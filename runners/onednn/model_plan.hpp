// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/model/graph.hpp"
#include "harness/worker/backend.hpp"
#include "runners/onednn/layer_parts.hpp"
#include "runners/onednn/layer_plan.hpp"
#include "runners/onednn/offer.hpp"

namespace plumb::onednn {

/// One plan for a whole model.
struct ModelPlan {
  LayerPlan plan;                     ///< its buffers' operands are indices into `operands`
  std::vector<StepOrigin> origins;    ///< of plan.steps, one to one
  std::vector<std::string> variants;  ///< of the graph's layers, one to one; empty: no step
  std::vector<ValueId> operands;
  std::size_t reorders = 0;  ///< steps that only change a layout
  Bytes reordered;           ///< that they read and write
};

/// Makes one plan of all layers in the graph's order (docs/reference/execution.md).
///
/// Each layer is the variant asked for or, where there is none of that name, the library's first
/// choice, no reference implementation while there are others.
/// Of a primitive that comes in several layouts the one is taken that its input was left in.
/// Element-wise layers run on the bytes as they lie and hand the layout on; where a layer wants
/// another layout than it finds, one reorder makes it for all that want the same. Results share one
/// block of memory by their lifetimes. `parts` may be that of another plan. With several lanes the
/// steps of branches are scheduled side by side (LayerPlan::schedule), and results share memory by
/// the schedule's partial order. Throws Unsupported, naming the layer, if one cannot be executed,
/// and what the library throws.
[[nodiscard]] ModelPlan plan_model(const Graph& graph,
                                   const LayerVariants& variants,
                                   const Device& device,
                                   LayerParts& parts,
                                   std::size_t lanes = 1);

/// The same in as many lanes as the graph's branches keep busy, the calling thread's OpenMP threads
/// parted between them. Throws also Unsupported where there are fewer than two threads, no OpenMP,
/// or no branches worth a lane (useful_lanes()).
[[nodiscard]] ModelPlan plan_branches(const Graph& graph,
                                      const LayerVariants& variants,
                                      const Device& device);

}  // namespace plumb::onednn
