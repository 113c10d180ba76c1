// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/bounds/model_summary.hpp"

#include <algorithm>
#include <string_view>

#include "harness/results/execution_mode.hpp"

namespace plumb::analysis {
namespace {

/// Returns the library's bound on executions in a mode.
std::optional<Seconds> library_bound(const ModelBounds& model, const results::ExecutionMode& mode) {
  if (!mode.has_own_layers()) {
    return std::nullopt;
  }
  return complete_time(
      model,
      mode.has_branches() ? results::BoundKind::kLibraryParallel : results::BoundKind::kLibrary,
      mode.fusion ? "fusion" : "plain");
}

ModeSummary mode_summary(const ModelBounds& model, const std::string& name) {
  ModeSummary mode;
  mode.mode = name;
  mode.bound = library_bound(model, results::execution_mode_from(name));
  mode.predicted = complete_time(model, results::BoundKind::kPredicted, name);
  const auto execution = std::find_if(model.executions.begin(),
                                      model.executions.end(),
                                      [&](const ExecutionTime& each) { return each.mode == name; });
  if (execution != model.executions.end()) {
    mode.execution = &*execution;
  }
  return mode;
}

}  // namespace

std::optional<Seconds> ModeSummary::measured() const {
  return execution != nullptr && execution->samples > 0 ? std::optional(execution->median)
                                                        : std::nullopt;
}

std::optional<double> ModeSummary::gap() const {
  const std::optional<Seconds> time = measured();
  return time && bound && *bound > Seconds{} ? std::optional(*time / *bound) : std::nullopt;
}

ModelSummary summarize(const ModelBounds& model) {
  ModelSummary summary;
  std::vector<std::string> names = {"plain", "fusion"};
  for (const ExecutionTime& execution : model.executions) {
    if (std::find(names.begin(), names.end(), execution.mode) == names.end()) {
      names.push_back(execution.mode);
    }
  }
  for (const std::string& name : names) {
    summary.modes.push_back(mode_summary(model, name));
  }
  const auto chosen =
      std::find_if(summary.modes.begin(), summary.modes.end(), [](const ModeSummary& mode) {
        return mode.execution != nullptr && mode.execution->library_choice;
      });
  summary.now = (chosen != summary.modes.end() ? *chosen : summary.modes.front()).measured();
  std::optional<Seconds> least = summary.now;
  for (const ModeSummary& mode : summary.modes) {
    const std::optional<Seconds> time = mode.measured();
    if (time && results::execution_mode_from(mode.mode).has_own_layers() &&
        (!least || *time < *least)) {
      least = time;
      summary.fastest = &mode;
    }
  }
  for (const char* const mode : {"plain", "fusion"}) {
    const std::optional<Seconds> bound = complete_time(model, results::BoundKind::kLibrary, mode);
    if (bound && (!summary.library || *bound < *summary.library)) {
      summary.library = bound;
    }
  }
  summary.hardware = complete_time(model, results::BoundKind::kHardware, "any");
  return summary;
}

}  // namespace plumb::analysis
