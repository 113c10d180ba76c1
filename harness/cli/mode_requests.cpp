// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/mode_requests.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "harness/analyze/model_cover.hpp"

namespace plumb {
namespace {

std::vector<CoverStep> cover_steps(const PlannedModel& model,
                                   const ResultSet& results,
                                   const ExecutionMode& mode) {
  const CoverMode cover = mode.fusion ? CoverMode::kFusion : CoverMode::kPlain;
  return mode.bf16 ? cover_of(with_precision(model.graph, DataType::kBf16), results, cover).steps
                   : cover_of(model.graph, results, cover).steps;
}

bool complete(const std::vector<CoverStep>& steps) {
  return std::all_of(
      steps.begin(), steps.end(), [](const CoverStep& step) { return step.time.has_value(); });
}

ModeRequest request_of(const ExecutionMode& mode, const std::vector<CoverStep>& steps) {
  ModeRequest request{mode, {}};
  if (mode.best_variant) {
    for (const CoverStep& step : steps) {
      request.steps.push_back({step.layers, step.key, step.time->variant});
    }
  }
  return request;
}

/// Tells whether a mode needs measured layers before it can be executed, or means anything.
bool needs_times(const ExecutionMode& mode) {
  return mode.best_variant || mode.bf16;
}

}  // namespace

std::vector<ModeRequest> mode_requests(const PlannedModel& model,
                                       const ResultSet& results,
                                       const std::vector<ExecutionMode>& wanted) {
  const bool asked = !wanted.empty();
  std::vector<ModeRequest> requests;
  for (const ExecutionMode& mode : asked ? wanted : default_modes()) {
    if (mode.bf16 && model.instance.dtype != to_text(DataType::kF32)) {
      continue;  // it is in bf16 already
    }
    std::vector<CoverStep> steps;
    if (needs_times(mode) && !(asked && !mode.best_variant)) {
      steps = cover_steps(model, results, mode);
      if (steps.empty() || !complete(steps)) {
        if (asked) {
          spdlog::warn(
              "{}: not executed in the mode {}, which needs a time for every layer in "
              "this run",
              to_text(model.instance, ", "),
              to_text(mode));
        }
        continue;
      }
    }
    requests.push_back(request_of(mode, steps));
  }
  return requests;
}

}  // namespace plumb
