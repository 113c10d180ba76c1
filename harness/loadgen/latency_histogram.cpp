// SPDX-License-Identifier: Apache-2.0
#include "harness/loadgen/latency_histogram.hpp"

#include <algorithm>
#include <limits>

#include "harness/loadgen/early_stopping.hpp"

namespace plumb::loadgen {

LatencyHistogram::LatencyHistogram()
    : buckets_(find_bucket(std::numeric_limits<std::int64_t>::max()) + 1),
      least_(std::numeric_limits<std::uint64_t>::max()) {}

std::uint64_t LatencyHistogram::compute_highest(std::size_t bucket) {
  const std::size_t octave = bucket >> kBits;
  if (octave < 2) {
    return bucket;
  }
  const std::size_t shift = octave - 1;
  return ((static_cast<std::uint64_t>(bucket) - (shift << kBits) + 1) << shift) - 1;
}

LatencyHistogram::Nanoseconds LatencyHistogram::min() const {
  return Nanoseconds(count_ == 0 ? 0 : static_cast<std::int64_t>(least_));
}

LatencyHistogram::Nanoseconds LatencyHistogram::max() const {
  return Nanoseconds(static_cast<std::int64_t>(largest_));
}

LatencyHistogram::Nanoseconds LatencyHistogram::mean() const {
  return Nanoseconds(count_ == 0 ? 0
                                 : static_cast<std::int64_t>(sum_ / static_cast<double>(count_)));
}

LatencyHistogram::Nanoseconds LatencyHistogram::at_rank(std::uint64_t rank) const {
  if (rank + 1 >= count_) {
    return max();
  }
  std::uint64_t seen = 0;
  std::size_t bucket = find_bucket(least_);
  for (seen = buckets_[bucket]; seen <= rank; seen += buckets_[bucket]) {
    ++bucket;
  }
  return Nanoseconds(static_cast<std::int64_t>(std::min(compute_highest(bucket), largest_)));
}

LatencyHistogram::Nanoseconds LatencyHistogram::percentile(double percent) const {
  return at_rank(static_cast<std::uint64_t>(static_cast<double>(count_) * fraction_of(percent)));
}

}  // namespace plumb::loadgen
