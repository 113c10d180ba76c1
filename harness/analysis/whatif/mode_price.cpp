// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/whatif/mode_price.hpp"

#include "harness/analysis/bounds/model_partition.hpp"

namespace plumb::analysis {

const std::vector<PartitionStep>& ModePricer::steps_of(const results::ExecutionMode& mode) {
  const std::pair key(std::string(mode.other_type()), mode.fusion && !mode.int8);
  auto found = steps_.find(key);
  if (found == steps_.end()) {
    ModelPartition partition =
        partition_model(input_.graph_in(key.first),
                        input_.results,
                        key.second ? PartitionMode::kFusion : PartitionMode::kPlain);
    found = steps_.emplace(key, std::move(partition.steps)).first;
  }
  return found->second;
}

std::optional<MeasuredTime> ModePricer::price(const results::ExecutionMode& mode) {
  const bool own_type = mode.other_type().empty();
  if (mode.channels_last || mode.captured || mode.eager || mode.has_branches() ||
      (!own_type && input_.instance.dtype != to_text(model::DataType::kF32))) {
    return std::nullopt;
  }
  std::vector<PartitionStep> steps = steps_of(mode);
  for (PartitionStep& step : steps) {
    if (!mode.best_variant) {
      step.time = input_.results.library_choice(step.key, results::CacheMode::kNone);
    }
  }
  const StepSum sum = sum_steps(steps);
  return sum.missing == 0 && !steps.empty() ? std::optional(sum.time()) : std::nullopt;
}

}  // namespace plumb::analysis
