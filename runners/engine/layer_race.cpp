// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/layer_race.hpp"

#include <algorithm>

namespace plumb {

std::vector<std::size_t> race_winners(std::span<const RaceEntry> entries,
                                      double margin,
                                      std::size_t most) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].time) {
      order.push_back(i);
    }
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t left, std::size_t right) {
    return *entries[left].time < *entries[right].time;
  });
  if (order.empty()) {
    return order;
  }
  const Seconds limit = *entries[order.front()].time * (1.0 + margin);
  std::vector<std::size_t> winners;
  for (std::size_t place = 0; place < order.size(); ++place) {
    const RaceEntry& entry = entries[order[place]];
    const bool close = place == 0 || (*entry.time <= limit && place < most);
    if (close || entry.library_choice) {
      winners.push_back(order[place]);
    }
  }
  return winners;
}

}  // namespace plumb
