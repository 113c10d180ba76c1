// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/model_profile.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "harness/base/error.hpp"

namespace plumb {
namespace {

Seconds median_of(std::vector<Seconds>& times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

ExecutedLayer described(const ReadyModel& ready, std::optional<LayerId> id) {
  ExecutedLayer layer;
  if (id) {
    layer.layers = ready.plan.fused.origins.at(*id);
    layer.key = ready.plan.fused.graph.layers.at(*id).key;
    layer.variant = ready.prepared.variants.at(*id);
  }
  return layer;
}

}  // namespace

std::vector<ExecutedLayer> profile_model(const ReadyModel& ready, std::size_t passes) {
  const std::vector<StepOrigin>& steps = ready.prepared.steps;
  std::vector<std::vector<Seconds>> times(steps.size());
  for (std::size_t pass = 0; pass < passes; ++pass) {
    const std::vector<Seconds> once = ready.prepared.program->profile(0);
    if (once.empty()) {
      return {};
    }
    PLUMB_CHECK(once.size() == steps.size());
    for (std::size_t i = 0; i < once.size(); ++i) {
      times[i].push_back(once[i]);
    }
  }
  std::vector<ExecutedLayer> layers;
  std::map<std::optional<LayerId>, std::size_t> places;
  for (std::size_t i = 0; passes > 0 && i < steps.size(); ++i) {
    const auto [at, added] = places.try_emplace(steps[i].layer, layers.size());
    if (added) {
      layers.push_back(described(ready, steps[i].layer));
    }
    ExecutedLayer& layer = layers[at->second];
    (steps[i].reorder ? layer.reorder : layer.seconds) += median_of(times[i]);
    layer.reorders += steps[i].reorder ? 1 : 0;
  }
  return layers;
}

}  // namespace plumb
