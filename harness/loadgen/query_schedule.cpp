// SPDX-License-Identifier: Apache-2.0
#include "harness/loadgen/query_schedule.hpp"

#include <algorithm>

namespace plumb::loadgen {
namespace {

/// Returns LoadGen's generator for a seed, which takes its lower 32 bits.
std::mt19937 generator(std::uint64_t seed) {
  return std::mt19937(static_cast<std::mt19937::result_type>(seed));
}

/// Returns 0, stride, 2 · stride … below `count`, shuffled. The standard does not fix the order of
/// std::shuffle; LoadGen's is that of libstdc++, too.
std::vector<std::uint64_t> shuffled(std::uint64_t count,
                                    std::uint64_t stride,
                                    std::mt19937& random) {
  std::vector<std::uint64_t> numbers((count + stride - 1) / stride);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = i * stride;
  }
  std::shuffle(numbers.begin(), numbers.end(), random);
  return numbers;
}

/// Returns the distance between the first samples of queries that share no sample.
std::uint64_t compute_stride(const EffectiveLoad& load) {
  return load.scenario == LoadScenario::kMultiStream ? load.samples_per_query : 1;
}

}  // namespace

std::vector<std::uint64_t> sample_set(const EffectiveLoad& load) {
  std::mt19937 random = generator(load.seeds.data_set);
  const bool accuracy = load.mode == LoadMode::kAccuracy;
  return shuffled(accuracy ? load.total_samples : load.loaded_samples, 1, random);
}

SamplePicker::SamplePicker(const EffectiveLoad& load)
    : load_(load),
      set_(sample_set(load)),
      random_(generator(load.seeds.samples)),
      draw_(0, static_cast<std::int64_t>(set_.size()) - 1) {
  const std::uint64_t stride = compute_stride(load);
  starts_ = shuffled(set_.size(), stride, random_);
  if (load.mode == LoadMode::kPerformance) {
    // LoadGen shuffles two lists before its first draw, whether they are used or not: queries
    // without common samples, and the set with its padding.
    static_cast<void>(shuffled(set_.size() + stride - 1, 1, random_));
    starts_.clear();
  }
}

void SamplePicker::pick(std::vector<std::uint64_t>& indices) {
  indices.clear();
  if (load_.mode == LoadMode::kAccuracy) {
    pick_once(indices);
    return;
  }
  if (load_.scenario != LoadScenario::kOffline) {
    next_ = static_cast<std::uint64_t>(draw_(random_));
  }
  for (std::uint64_t i = 0; i < load_.samples_per_query; ++i) {
    indices.push_back(set_[next_]);
    next_ = next_ + 1 == set_.size() ? 0 : next_ + 1;
  }
}

void SamplePicker::pick_once(std::vector<std::uint64_t>& indices) {
  if (load_.scenario == LoadScenario::kOffline) {
    indices.assign(set_.begin() + static_cast<std::ptrdiff_t>(next_), set_.end());
    next_ = set_.size();
    return;
  }
  if (next_ == starts_.size()) {
    return;
  }
  const std::uint64_t first = starts_[next_++];
  const std::uint64_t last = std::min<std::uint64_t>(first + load_.samples_per_query, set_.size());
  indices.assign(set_.begin() + static_cast<std::ptrdiff_t>(first),
                 set_.begin() + static_cast<std::ptrdiff_t>(last));
}

}  // namespace plumb::loadgen
