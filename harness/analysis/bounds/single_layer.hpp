// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/analysis/bounds/result_set.hpp"
#include "harness/model/key/layer_cost.hpp"

namespace plumb::analysis {

/// Results of a run for one layer that its suite lists.
struct SingleLayerResult {
  model::ListedLayer layer;
  model::LayerCost cost;
  results::CacheMode cache =
      results::CacheMode::kNone;    ///< of `time`: hot, or the first mode that was measured
  std::optional<KeyTime> time;      ///< of the fastest variant
  std::optional<Seconds> hardware;  ///< the hardware bound of this layer alone
  std::string reason;               ///< why there is no time; empty if there is one
};

/// Returns the results of each layer, in the order in which they are listed.
[[nodiscard]] std::vector<SingleLayerResult> single_layer_results(
    std::span<const model::ListedLayer> layers, const ResultSet& results);

}  // namespace plumb::analysis
