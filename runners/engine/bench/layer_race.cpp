// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/bench/layer_race.hpp"

#include <algorithm>

namespace plumb::engine {

std::vector<std::size_t> within_margin(std::span<const std::optional<Seconds>> times,
                                       double margin) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (times[i]) {
      order.push_back(i);
    }
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t left, std::size_t right) {
    return *times[left] < *times[right];
  });
  const auto far = std::find_if(order.begin(), order.end(), [&](std::size_t index) {
    return *times[index] > *times[order.front()] * (1.0 + margin);
  });
  order.erase(far, order.end());
  return order;
}

std::size_t survivors(std::size_t contestants, std::size_t most) {
  return std::min(contestants, std::max(most, (contestants + 1) / 2));
}

}  // namespace plumb::engine
