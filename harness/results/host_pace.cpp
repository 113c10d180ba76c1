// SPDX-License-Identifier: Apache-2.0
#include "harness/results/host_pace.hpp"

#include <algorithm>

namespace plumb::results {

void FastestPace::take_in(const Measurement& row) {
  const auto found = row.readings.find(kHostPace);
  if (found != row.readings.end() && found->second.low > 0.0) {
    const double low = found->second.low;
    sorted_.insert(std::upper_bound(sorted_.begin(), sorted_.end(), low), low);
  }
}

std::optional<Seconds> FastestPace::seconds() const {
  constexpr std::size_t kShare = 20;
  return sorted_.empty() ? std::nullopt : std::optional(Seconds(sorted_[sorted_.size() / kShare]));
}

}  // namespace plumb::results
