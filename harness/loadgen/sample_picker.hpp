// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "harness/loadgen/load_settings.hpp"

namespace plumb {

/// Picker of the data set's samples that make the next query.
///
/// In performance mode samples are drawn from the loaded samples, uniformly and with replacement.
/// MultiStream draws the first and takes its successors, cyclically. Offline takes all loaded
/// samples in turn. In accuracy mode every sample of the data set is taken once, in order.
class SamplePicker {
 public:
  explicit SamplePicker(const EffectiveLoad& load) : load_(load), random_(load.seeds.samples) {}

  /// Fills `indices` with the samples of the next query. Leaves it empty if none are left (accuracy
  /// mode).
  void pick(std::vector<std::uint64_t>& indices) {
    indices.clear();
    const bool accuracy = load_.mode == LoadMode::kAccuracy;
    std::uint64_t first = next_;
    if (!accuracy && load_.scenario != LoadScenario::kOffline) {
      first = random_() % load_.loaded_samples;
    }
    for (std::uint64_t i = 0; i < load_.samples_per_query; ++i) {
      const std::uint64_t index = first + i;
      if (accuracy && index >= load_.total_samples) {
        break;
      }
      indices.push_back(accuracy ? index : index % load_.loaded_samples);
    }
    next_ = (first + indices.size()) % (accuracy ? load_.total_samples + 1 : load_.loaded_samples);
  }

 private:
  const EffectiveLoad& load_;
  std::mt19937_64 random_;
  std::uint64_t next_ = 0;
};

}  // namespace plumb
