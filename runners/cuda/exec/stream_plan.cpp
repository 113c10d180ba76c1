// SPDX-License-Identifier: Apache-2.0
#include "runners/cuda/exec/stream_plan.hpp"

#include <algorithm>
#include <optional>

namespace plumb::cuda {
StreamPlan plan_streams(std::span<const engine::StepBuffers> steps, std::size_t most) {
  const engine::StepNeeds before = engine::step_needs(steps);
  StreamPlan plan;
  plan.stream.resize(steps.size());
  plan.waits.resize(steps.size());
  std::vector<std::optional<std::size_t>> last;  // newest step of each stream
  for (std::size_t step = 0; step < steps.size(); ++step) {
    std::optional<std::size_t> chosen;
    // On the stream of its newest dependency, a step need not wait for that one by an event.
    for (auto earlier = before[step].rbegin(); earlier != before[step].rend() && !chosen;
         ++earlier) {
      if (last[plan.stream[*earlier]] == *earlier) {
        chosen = plan.stream[*earlier];
      }
    }
    if (!chosen && last.size() < std::max<std::size_t>(most, 1)) {
      chosen = last.size();
      last.emplace_back();
    }
    if (!chosen) {  // all in use: the one whose newest step is the oldest
      chosen = static_cast<std::size_t>(std::min_element(last.begin(), last.end()) - last.begin());
    }
    plan.stream[step] = *chosen;
    last[*chosen] = step;
    for (const std::size_t earlier : before[step]) {
      if (plan.stream[earlier] != *chosen) {
        plan.waits[step].push_back(earlier);
      }
    }
  }
  plan.streams = std::max<std::size_t>(last.size(), 1);
  return plan;
}

}  // namespace plumb::cuda
