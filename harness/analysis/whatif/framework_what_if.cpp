// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "harness/analysis/whatif/what_if.hpp"

namespace plumb::analysis {

WhatIfResult framework_what_if(const WhatIfInput& input) {
  WhatIfResult result;
  result.mode = "the runtime executes what the model needs, by the findings of a trace";
  if (!input.traced) {
    result.applies = false;
    result.why_not =
        fmt::format("the run keeps no trace of this model: plumb trace {} --run RUN makes one",
                    input.instance.model);
    return result;
  }
  const results::TracedLosses& traced = *input.traced;
  const std::string where = traced.stack.empty()
                                ? std::string("from files")
                                : fmt::format("of {} in the mode {}", traced.stack, traced.mode);
  result.mode = fmt::format("the trace {}, without its findings", where);
  if (traced.span <= Seconds(0.0)) {
    result.applies = false;
    result.why_not = fmt::format("the trace {} has no times", where);
    return result;
  }
  // A profiler makes calls longer, so the findings are scaled to the execution without it.
  const Seconds baseline = traced.untraced.value_or(traced.span);
  const double scale = baseline / traced.span;
  Seconds predicted = baseline;
  for (const results::TracedLosses::Loss& loss : traced.losses) {
    // Findings may overlap: together they give back at most the whole execution.
    const Seconds gain = std::min(loss.gain * scale, predicted);
    predicted -= gain;
    result.layers.push_back({loss.layers.empty() ? "whole model" : loss.layers.front(),
                             {},
                             gain,
                             Seconds(0.0),
                             fmt::format("{}: {}", loss.finding, loss.evidence)});
  }
  conclude(result, {baseline, {baseline, baseline}}, {predicted, {predicted, predicted}});
  result.prerequisites = {"a runtime, or settings of it, without these findings"};
  return result;
}

}  // namespace plumb::analysis
