// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/whatif/mode_price.hpp"

#include <vector>

#include "harness/analysis/bounds/model_partition.hpp"
#include "harness/rewrite/types/typed_graph.hpp"

namespace plumb::analysis {

std::optional<measure::MeasuredTime> price_mode(const WhatIfInput& input,
                                                const results::ExecutionMode& mode) {
  const bool own_type = mode.other_type().empty();
  if (!rewrite::has_form(input.graph, mode.other_type()) || mode.channels_last ||
      mode.checkpointing || mode.folded_norms || mode.captured || mode.eager ||
      mode.has_branches() ||
      (!own_type && input.instance.dtype != to_text(model::DataType::kF32))) {
    return std::nullopt;
  }
  // A model in 8 bits is fused before it is quantised.
  const PartitionMode partition =
      mode.fusion && !mode.int8 ? PartitionMode::kFusion : PartitionMode::kPlain;
  std::vector<PartitionStep> steps = input.partition_in(mode.other_type(), partition).steps;
  for (PartitionStep& step : steps) {
    if (!mode.best_variant) {
      step.time = input.results.library_choice(step.key, results::CacheMode::kNone);
    }
  }
  const StepSum sum = sum_steps(steps);
  return sum.missing == 0 && !steps.empty() ? std::optional(sum.time) : std::nullopt;
}

}  // namespace plumb::analysis
