// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "harness/analyze/result_set.hpp"
#include "harness/results/run.hpp"

namespace plumb {

/// Regret of one key: the time it loses through the library's choice of variant.
struct KeyRegret {
  LayerKey key;
  KeyTime choice;      ///< the library's, floor subtracted
  KeyTime best;        ///< the fastest of the library's variants in its layout, the choice included
  double ratio = 1.0;  ///< choice ÷ best; 1 where they are one, or cannot be told apart
  bool within = false;  ///< another variant's median is smaller, but the 95% intervals overlap
};

/// Sums up the keys of one data type.
struct RegretGroup {
  std::string dtype;             ///< of the keys' first operand
  std::vector<KeyRegret> keys;   ///< largest ratio first, then by key
  std::size_t no_choice = 0;     ///< keys left out: the library offers one variant only
  std::size_t not_measured = 0;  ///< keys left out: the choice or all variants have no full time
  std::size_t within = 0;        ///< keys counted as 1 because intervals overlap
  double geometric_mean = 1.0;
  std::optional<double> low;  ///< 95% interval of that mean over keys; absent below two keys
  std::optional<double> high;
  double p50 = 1.0;
  double p90 = 1.0;
  double p99 = 1.0;
  double share_above = 0.0;  ///< of keys with a ratio above kNotableRegret
};
inline constexpr double kNotableRegret = 1.05;

/// Regret of one run: of one library version on one device.
struct HeuristicRegret {
  RunId run;
  std::string suite;
  std::string stack;
  std::string library;  ///< of the environment's identity: name, version, hash
  std::string device;   ///< the GPU, or the CPU's model
  std::string threads;
  CacheMode cache = CacheMode::kNone;
  std::vector<RegretGroup> groups;  ///< by type
};

/// Compares what the library chooses when asked for nothing with its fastest variant, key by key,
/// over the full and confirming rows of one run. Variants that are code of ours (`impl=plumb:`)
/// count on neither side, nor do variants in another layout than the choice's, which the caller and
/// not the library fixes (`layout=any`: the library does). The interval of the mean is Student's,
/// over the logarithms of the ratios: what another draw of such keys might give. Pure.
[[nodiscard]] HeuristicRegret heuristic_regret(const RunRecord& run,
                                               const std::vector<StoredMeasurement>& rows,
                                               CacheMode cache);

}  // namespace plumb
