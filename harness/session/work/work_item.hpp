// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/model/key/layer_key.hpp"
#include "harness/results/measurement.hpp"

namespace plumb::session {

/// One key to measure once, however often it occurs.
struct WorkItem {
  model::LayerKey key;
  std::int64_t occurrences = 0;  ///< in all models and listed layers of the suite
  double weight = 0.0;  ///< MACs × occurrences; bytes moved ÷ 1000 where there are no MACs
  std::vector<results::CacheMode> caches;  ///< still to be measured
};

/// One key whose fastest variants are measured again in a fresh process.
struct Confirmation {
  model::LayerKey key;
  std::vector<results::CacheMode> caches;
  std::vector<std::string> variants;  ///< the fastest few and the library's own choice
};

}  // namespace plumb::session
