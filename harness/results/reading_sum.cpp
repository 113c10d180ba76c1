// SPDX-License-Identifier: Apache-2.0
#include "harness/results/reading_sum.hpp"

#include <algorithm>

namespace plumb::results {

void add_readings(Readings& sum, const Readings& block) {
  for (const auto& [name, reading] : block) {
    const auto [place, is_new] = sum.try_emplace(name, reading);
    if (is_new) {
      continue;
    }
    Reading& known = place->second;
    const auto before = static_cast<double>(known.n);
    const auto more = static_cast<double>(reading.n);
    known.median = (known.median * before + reading.median * more) / (before + more);
    known.low = std::min(known.low, reading.low);
    known.high = std::max(known.high, reading.high);
    known.n += reading.n;
  }
}

}  // namespace plumb::results
