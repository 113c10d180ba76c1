// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "harness/analyze/model_cover.hpp"
#include "harness/analyze/what_if_rows.hpp"

namespace plumb {

WhatIfResult all_what_if(const WhatIfInput& input) {
  WhatIfResult result;
  result.mode = "bf16, fused, fastest variants, hot; against the layers as written in f32";
  if (input.instance.dtype != to_text(DataType::kF32)) {
    result.why_not = fmt::format("the model runs in {} already", input.instance.dtype);
    return result;
  }
  const StepSum before = sum_of(cover_of(input.graph, input.results, CoverMode::kPlain).steps);
  const Graph lower = with_precision(input.graph, DataType::kBf16);
  const StepSum after = sum_of(cover_of(lower, input.results, CoverMode::kFusion).steps);
  if (before.missing + after.missing > 0) {
    result.why_not =
        fmt::format("no time for {} layers in f32 and {} in bf16", before.missing, after.missing);
    return result;
  }
  result.prerequisites = {"all that fusion, bf16 and best_variant need"};
  conclude(result, before.seconds, after.seconds, after.interval);
  return result;
}

}  // namespace plumb
