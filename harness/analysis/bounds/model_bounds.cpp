// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/bounds/model_bounds.hpp"

#include <algorithm>

#include "harness/results/execution.hpp"

namespace plumb::analysis {

std::optional<Seconds> known_time(const Bound& bound) {
  const bool known = bound.complete || bound.seconds.count() > 0.0;
  return known ? std::optional<Seconds>(bound.seconds) : std::nullopt;
}

// The bounds are of the model's own type. They do not hold for a mode in another type, and those of
// layers not for a mode with other layers.
bool must_not_exceed(const Bound& bound, const ExecutionTime& execution) {
  const results::ExecutionMode mode = results::execution_mode_from(execution.mode);
  using results::BoundKind;
  const BoundKind library = mode.has_branches() ? BoundKind::kLibraryParallel : BoundKind::kLibrary;
  return bound.complete && mode.other_type().empty() &&
         (bound.kind == BoundKind::kHardware || bound.kind == BoundKind::kHardwareUpdate ||
          (bound.kind == library && mode.has_own_layers() &&
           bound.mode == (mode.fusion ? "fusion" : "plain")));
}

const Bound* find_bound(const ModelBounds& model, results::BoundKind kind, std::string_view mode) {
  const auto found =
      std::find_if(model.bounds.begin(), model.bounds.end(), [&](const Bound& bound) {
        return bound.kind == kind && bound.mode == mode;
      });
  return found == model.bounds.end() ? nullptr : &*found;
}

const Bound* find_complete(const ModelBounds& model,
                           results::BoundKind kind,
                           std::string_view mode) {
  const Bound* const bound = find_bound(model, kind, mode);
  return bound != nullptr && bound->complete ? bound : nullptr;
}

std::optional<Seconds> complete_time(const ModelBounds& model,
                                     results::BoundKind kind,
                                     std::string_view mode) {
  const Bound* const bound = find_complete(model, kind, mode);
  return bound == nullptr ? std::nullopt : std::optional(bound->seconds);
}

std::vector<std::string> all_findings(const ModelBounds& model) {
  std::vector<std::string> all = model.findings;
  all.insert(all.end(), model.disturbances.begin(), model.disturbances.end());
  return all;
}

}  // namespace plumb::analysis
