// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace plumb::stand_in {

/// One sequence of works that are ordered: a stream, a chain of a graph's nodes, or the host.
using Lane = std::uint32_t;

/// One work of one lane.
struct Epoch {
  Lane lane = 0;
  std::uint32_t count = 0;
};

/// Set of works that happen before a point, by lane (Fidge and Mattern's vector time).
class VectorTime {
 public:
  [[nodiscard]] bool covers(Epoch epoch) const {
    const auto at = find(epoch.lane);
    return at != counts_.end() && at->first == epoch.lane && at->second >= epoch.count;
  }

  void join(Epoch epoch) {
    const auto at = find(epoch.lane);
    if (at != counts_.end() && at->first == epoch.lane) {
      auto& count = counts_[static_cast<std::size_t>(at - counts_.begin())].second;
      count = std::max(count, epoch.count);
    } else {
      counts_.insert(at, {epoch.lane, epoch.count});
    }
  }

  void join(const VectorTime& other) {
    for (const auto& [lane, count] : other.counts_) {
      join(Epoch{lane, count});
    }
  }

 private:
  using Counts = std::vector<std::pair<Lane, std::uint32_t>>;

  [[nodiscard]] Counts::const_iterator find(Lane lane) const {
    return std::lower_bound(counts_.begin(), counts_.end(), lane, [](const auto& entry, Lane name) {
      return entry.first < name;
    });
  }

  Counts counts_;  // by lane
};

}  // namespace plumb::stand_in
