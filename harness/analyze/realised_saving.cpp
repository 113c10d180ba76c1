// SPDX-License-Identifier: Apache-2.0
#include "harness/analyze/realised_saving.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace plumb {
namespace {

const ExecutionTime* execution_in(const ModelBounds& model, std::string_view mode) {
  const auto found = std::find_if(
      model.executions.begin(), model.executions.end(), [&](const ExecutionTime& execution) {
        return execution.mode == mode && execution.samples > 0;
      });
  return found == model.executions.end() ? nullptr : &*found;
}

const Bound* prediction_in(const ModelBounds& model, std::string_view mode) {
  const auto found =
      std::find_if(model.bounds.begin(), model.bounds.end(), [&](const Bound& bound) {
        return bound.kind == "predicted" && bound.mode == mode && bound.complete;
      });
  return found == model.bounds.end() ? nullptr : &*found;
}

}  // namespace

void add_realised_savings(const ModelBounds& model, ModelWhatIfs& whatifs) {
  constexpr std::string_view kBefore = "plain";
  const ExecutionTime* const before = execution_in(model, kBefore);
  const Bound* const priced_before = prediction_in(model, kBefore);
  for (WhatIfResult& result : whatifs.whatifs) {
    const ExecutionTime* const after = execution_in(model, result.execution_mode);
    if (before == nullptr || after == nullptr || before->median <= Seconds{} ||
        after->median <= Seconds{}) {
      continue;
    }
    result.realised_baseline = before->median;
    result.realised = after->median;
    result.realised_interval = after->interval;
    result.realised_speedup = before->median / after->median;
    const Bound* const priced = prediction_in(model, result.execution_mode);
    if (priced_before != nullptr && priced != nullptr) {
      result.why_not.clear();
      result.mode = fmt::format(
          "the plan of mode {}, priced by its layers: weights cold, operands "
          "handed on, reorders counted",
          result.execution_mode);
      conclude(result, priced_before->seconds, priced->seconds, priced->interval);
    }
    if (result.baseline && result.predicted && result.why_not.empty()) {
      const Seconds predicted = *result.baseline - *result.predicted;
      const Seconds realised = before->median - after->median;
      result.prediction_error = std::abs((predicted - realised) / before->median);
    }
  }
}

}  // namespace plumb
