// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "harness/analysis/bounds/model_partition.hpp"
#include "harness/analysis/whatif/mode_facts.hpp"
#include "harness/analysis/whatif/what_if.hpp"
#include "harness/model/key/product_kind.hpp"
#include "harness/rewrite/quantized_graph.hpp"
#include "harness/rewrite/types/typed_graph.hpp"

namespace plumb::analysis {

WhatIfResult int8_what_if(const WhatIfInput& input) {
  WhatIfResult result;
  result.mode =
      "convolutions and products with constant weights in 8-bit integers, fused, fastest variants, "
      "hot; against the layers as written in f32";
  if (!rewrite::has_form(input.graph, rewrite::kInt8)) {
    result.applies = false;
    result.why_not = "a step of training is not executed in 8-bit integers";
    return result;
  }
  const std::optional<PricedPartition> full = price_in_f32(input, result);
  if (!full) {
    return result;
  }
  const PricedPartition eight_bit =
      priced_partition(input.graph_in(rewrite::kInt8),
                       input.results,
                       input.partition_in(rewrite::kInt8, PartitionMode::kPlain).steps,
                       rewrite::kInt8);
  if (!eight_bit.why_not.empty()) {
    result.why_not = eight_bit.why_not;
    return result;
  }
  const rewrite::FusedGraph lower = rewrite::int8_graph(input.graph);
  if (lower.quantization.weights.empty()) {
    result.why_not = "no layer of this model has a form in 8-bit integers";
    result.applies = false;
    return result;
  }
  std::map<model::LayerId, Seconds> alone;
  for (const PartitionStep& step : full->steps) {
    alone[step.layers.front()] = step.time->time.median;
  }
  for (const PartitionStep& step : eight_bit.steps) {
    const model::LayerId id = step.layers.front();
    if (!model::is_integer_product(lower.graph.layers[id].spec)) {
      continue;
    }
    Seconds replaced{};
    for (const model::LayerId origin : lower.origins[id]) {
      replaced += alone[origin];
    }
    result.layers.push_back({name_of(input.graph, lower.origins[id]),
                             step.key,
                             replaced,
                             step.time->time.median,
                             step.time->variant});
  }
  result.prerequisites = {"weights rounded to 8 bits once, with a scale for each output channel",
                          "a scale for each activation, from inputs that the model will see",
                          "accuracy checked on the task"};
  conclude(result, full->sum.time, eight_bit.sum.time);
  return result;
}

}  // namespace plumb::analysis
