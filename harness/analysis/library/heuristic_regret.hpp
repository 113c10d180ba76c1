// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/analysis/bounds/result_set.hpp"
#include "harness/results/run.hpp"
#include "harness/stats/statistical_tests.hpp"

namespace plumb::analysis {

inline constexpr double kNotableRegret = 1.05;

/// Regret of one run: of one library version on one device.
struct HeuristicRegret {
  /// Regret over the keys of one data type.
  struct Group {
    /// Regret of one key: the time it loses through the library's choice of variant.
    struct KeyRegret {
      model::LayerKey key;
      KeyTime choice;  ///< the library's, harness overhead subtracted
      KeyTime best;    ///< the fastest of the library's variants in its layout, the choice included
      double ratio = 1.0;   ///< choice ÷ best; 1 where both are one variant, or intervals overlap
      bool within = false;  ///< another variant's median is smaller, but the 95% intervals overlap
    };

    std::string dtype;             ///< of the keys' first operand
    std::vector<KeyRegret> keys;   ///< largest ratio first, then by key
    std::size_t no_choice = 0;     ///< keys left out: the library offers one variant only
    std::size_t not_measured = 0;  ///< keys left out: the choice or all variants have no full time
    std::size_t within = 0;        ///< keys counted as 1 because intervals overlap
    stats::GeometricMean mean;     ///< over keys
    double p50 = 1.0;
    double p90 = 1.0;
    double p99 = 1.0;
    double share_above = 0.0;  ///< of keys with a ratio above kNotableRegret
  };

  results::RunId run;
  std::string suite;
  std::string stack;
  std::string library;  ///< of the environment's identity: name, version, hash
  std::string device;   ///< the GPU, or the CPU's model
  std::string threads;
  results::CacheMode cache = results::CacheMode::kNone;
  std::vector<Group> groups;  ///< by type
};

/// Compares the library's choice with its fastest variant, key by key, over the full and confirming
/// rows of one run. Two kinds of variants are left out on both sides: built-in kernels
/// (`impl=plumb:`), and variants in another layout than the choice's. The caller fixes such a
/// layout, not the library (with `layout=any` the library chooses it).
///
/// The interval of the mean is Student's over the logarithms of the ratios. It shows what another
/// draw of such keys might give. Pure.
[[nodiscard]] HeuristicRegret heuristic_regret(const results::RunRecord& run,
                                               const std::vector<results::StoredMeasurement>& rows,
                                               results::CacheMode cache);

}  // namespace plumb::analysis
