// SPDX-License-Identifier: Apache-2.0
#include "harness/session/work/selected_layers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/base/error.hpp"
#include "harness/session/work/layer_filter.hpp"
#include "harness/session/work/planner.hpp"

namespace plumb::session {

SelectedLayers selected_layers(std::span<const PlannedModel> models,
                               const suite::ResolvedSuite& suite) {
  check_wanted_layers(models, suite);
  const auto count = [&](const suite::LayerSelection& selection) {
    return work_items(models, suite.layers, suite.caches, Shard{}, selection).size();
  };
  const SelectedLayers counts{.selected = count(suite.selection), .all = count({})};
  if (counts.selected == 0) {
    throw Error(Error::Kind::kUser,
                fmt::format("'--exclude {}' leaves no layer to measure",
                            fmt::join(suite.selection.excluded, "' and '--exclude ")));
  }
  return counts;
}

}  // namespace plumb::session
