// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/exec/reference_comparison.hpp"

#include <map>
#include <utility>
#include <vector>

#include "harness/model/graph/graph.hpp"
#include "runners/engine/exec/output_difference.hpp"
#include "runners/engine/exec/reference_model.hpp"

namespace plumb::engine {

std::optional<Deviation> compare_with_reference(const RequestedModel& model,
                                                const ReadyModel& ready,
                                                std::int64_t& macs_left,
                                                const std::function<void()>& after_layer) {
  const rewrite::FusedGraph& fused = ready.plan.fused;
  const model::GraphTotals sums = model::totals(fused.graph);
  if (sums.macs_saturated || sums.macs > macs_left) {
    return std::nullopt;
  }
  macs_left -= sums.macs;
  const std::vector<model::ValueId>& wanted = ready.prepared.operands;
  std::vector<model::Tensor> operands;
  if (!model.operands(fused, wanted, operands, ready.magnitudes).ok()) {
    return std::nullopt;
  }
  std::map<model::ValueId, model::Tensor> values;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    values.insert_or_assign(wanted[i], std::move(operands[i]));
  }
  std::vector<model::Tensor> expected;
  if (!reference_model_outputs(fused.graph, values, expected, after_layer).ok()) {
    return std::nullopt;
  }
  return model.deviation(
      ready.outputs, expected, ready.rounding, tolerated_by_reference(fused.graph));
}

}  // namespace plumb::engine
