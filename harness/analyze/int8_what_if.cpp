// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <map>

#include "harness/analyze/model_cover.hpp"
#include "harness/analyze/what_if_rows.hpp"
#include "harness/model/quantized_product.hpp"
#include "harness/rewrite/quantized_graph.hpp"

namespace plumb {

WhatIfResult int8_what_if(const WhatIfInput& input) {
  WhatIfResult result;
  result.mode =
      "convolutions and products with constant weights in 8-bit integers, fused, fastest variants, "
      "hot; against the layers as written in f32";
  if (input.instance.dtype != to_text(DataType::kF32)) {
    result.why_not = fmt::format("the model runs in {} already", input.instance.dtype);
    return result;
  }
  const ModelCover full = cover_of(input.graph, input.results, CoverMode::kPlain);
  const StepSum before = sum_of(full.steps);
  if (before.missing > 0) {
    result.why_not = missing_times(input.graph, input.results, full.steps, before.missing, "f32");
    return result;
  }
  const FusedGraph lower = int8_graph(input.graph);
  const ModelCover eight_bit = cover_of(lower.graph, input.results, CoverMode::kPlain);
  const StepSum after = sum_of(eight_bit.steps);
  if (after.missing > 0) {
    result.why_not =
        missing_times(lower.graph, input.results, eight_bit.steps, after.missing, kInt8);
    return result;
  }
  if (lower.quantization.weights.empty()) {
    result.why_not = "no layer of this model has a form in 8-bit integers";
    return result;
  }
  std::map<LayerId, Seconds> alone;
  for (const CoverStep& step : full.steps) {
    alone[step.layers.front()] = step.time->time.median;
  }
  for (const CoverStep& step : eight_bit.steps) {
    const LayerId id = step.layers.front();
    if (!is_integer_product(lower.graph.layers[id].spec)) {
      continue;
    }
    Seconds replaced{};
    for (const LayerId origin : lower.origins[id]) {
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
  conclude(result, before.seconds, after.seconds, after.interval);
  return result;
}

}  // namespace plumb
