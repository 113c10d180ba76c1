// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/model_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

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

/// Names each step by what tells its time from others': equal names, equal work.
std::vector<std::string> step_names(const ReadyModel& ready) {
  const std::vector<StepOrigin>& steps = ready.prepared.steps;
  std::vector<std::string> names;
  std::map<std::optional<LayerId>, std::size_t> counts;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::size_t number = counts[steps[i].layer]++;
    const bool unique = steps[i].reorder || !steps[i].layer;  // the layout it finds has no name
    const ExecutedLayer layer = described(ready, steps[i].layer);
    names.push_back(unique ? fmt::format("step {}", i)
                           : fmt::format("{} {} {}", layer.key.text, layer.variant, number));
  }
  return names;
}

/// Tells of each step which one is timed for it: the first of the same name after the same name.
std::vector<std::size_t> representatives(const std::vector<std::string>& names) {
  std::map<std::pair<std::string, std::string>, std::size_t> first;
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string before = i == 0 ? std::string() : names[i - 1];
    result.push_back(first.try_emplace({before, names[i]}, i).first->second);
  }
  return result;
}

Seconds above_floor(Seconds time, Seconds floor) {
  return std::max(time - floor, Seconds(0.0));
}

}  // namespace

void add_times_in_turn(const ReadyModel& ready,
                       const TurnProfile& profile,
                       std::vector<ExecutedLayer>& layers) {
  constexpr std::size_t kAtLeast = 3;
  constexpr std::size_t kAtMost = 7;
  const std::vector<StepOrigin>& steps = ready.prepared.steps;
  const std::vector<std::size_t> timed_for = representatives(step_names(ready));
  std::vector<bool> wanted(steps.size());
  for (const std::size_t step : timed_for) {
    wanted[step] = true;
  }
  std::vector<std::vector<Seconds>> times(steps.size());
  const Seconds begin = profile.clock();
  for (std::size_t pass = 0;
       pass < kAtMost && (pass < kAtLeast || profile.clock() - begin < profile.budget);
       ++pass) {
    const std::vector<Seconds> once =
        ready.prepared.program->profile_in_turn(0, wanted, profile.most);
    if (once.empty()) {
      return;
    }
    PLUMB_CHECK(once.size() == steps.size());
    for (std::size_t i = 0; i < once.size(); ++i) {
      times[i].push_back(once[i]);
    }
  }
  std::map<std::optional<LayerId>, TimeInTurn> sums;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const SampleSummary time = summarize(times[timed_for[i]]);
    TimeInTurn& sum = sums[steps[i].layer];
    sum.median += above_floor(time.median, profile.floor);
    sum.interval.low += above_floor(time.interval.low, profile.floor);
    sum.interval.high += above_floor(time.interval.high, profile.floor);
  }
  // The layers stand in the order in which their first steps are executed.
  std::vector<std::optional<LayerId>> order;
  for (const StepOrigin& step : steps) {
    if (std::find(order.begin(), order.end(), step.layer) == order.end()) {
      order.push_back(step.layer);
    }
  }
  PLUMB_CHECK(order.size() == layers.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    layers[i].in_turn = sums[order[i]];
  }
}

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
