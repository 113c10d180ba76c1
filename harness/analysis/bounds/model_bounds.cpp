// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/bounds/model_bounds.hpp"

#include "harness/results/execution_mode.hpp"

namespace plumb::analysis {

std::optional<Seconds> known_time(const Bound& bound) {
  const bool known = bound.complete || bound.seconds.count() > 0.0;
  return known ? std::optional<Seconds>(bound.seconds) : std::nullopt;
}

// The bounds are of the model's own type. They do not hold for a mode in another type.
bool must_not_exceed(const Bound& bound, const ExecutionTime& execution) {
  const results::ExecutionMode mode = results::execution_mode_from(execution.mode);
  const std::string_view library = mode.has_branches() ? "library_parallel" : "library";
  return bound.complete && mode.other_type().empty() &&
         (bound.kind == "hardware" || bound.kind == "hardware_update" ||
          (bound.kind == library && bound.mode == (mode.fusion ? "fusion" : "plain")));
}

std::vector<std::string> all_findings(const ModelBounds& model) {
  std::vector<std::string> all = model.findings;
  all.insert(all.end(), model.disturbances.begin(), model.disturbances.end());
  return all;
}

}  // namespace plumb::analysis
