// SPDX-License-Identifier: Apache-2.0
#include "harness/results/paired_round.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace plumb::results {
namespace {

constexpr std::size_t kMinTurns = 3;  // below, a middle one is none

/// Returns the middle value, the mean of both middle ones if their number is even. Not empty.
double middle_of(std::vector<double> values) {
  const auto half = static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), values.begin() + half, values.end());
  const double upper = values[static_cast<std::size_t>(half)];
  if (values.size() % 2 == 1) {
    return upper;
  }
  return (*std::max_element(values.begin(), values.begin() + half) + upper) / 2.0;
}

}  // namespace

PairedRound::Times pair_times(const Measurement& baseline, const Measurement& candidate) {
  const PairedRound::Times medians{baseline.corrected().median, candidate.corrected().median};
  std::vector<double> log_ratios;
  for (std::size_t i = 0; i < std::min(baseline.turns.size(), candidate.turns.size()); ++i) {
    const Seconds before = baseline.turns[i] - baseline.floor;
    const Seconds after = candidate.turns[i] - candidate.floor;
    if (before > Seconds(0.0) && after > Seconds(0.0)) {
      log_ratios.push_back(std::log(after / before));
    }
  }
  if (log_ratios.size() < kMinTurns || medians.baseline <= Seconds(0.0) ||
      medians.candidate <= Seconds(0.0)) {
    return medians;
  }
  const Seconds level(std::sqrt(medians.baseline.count() * medians.candidate.count()));
  const double half = std::exp(middle_of(std::move(log_ratios)) / 2.0);
  return {level / half, level * half};
}

}  // namespace plumb::results
