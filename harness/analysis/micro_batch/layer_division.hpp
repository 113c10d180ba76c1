// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/analysis/bounds/result_set.hpp"
#include "harness/model/key/layer_spec.hpp"
#include "harness/results/division/divided_variant.hpp"

namespace plumb::analysis {

/// Fastest way to execute a convolution or its gradient, in parts of its batch or as a whole, under
/// a cap of workspace.
struct LayerDivision {
  /// A part, or the addition of what a part computed.
  struct Step {
    model::LayerKey key;
    KeyTime time;
  };
  std::vector<Step> steps;            ///< the parts in order, then the additions
  std::size_t parts = 0;              ///< 1: the batch is not divided
  std::string variant;                ///< that executes the layer so (results::divided_variant)
  bool own_choice = false;            ///< it is the library's own choice
  std::vector<std::int64_t> missing;  ///< batches without a time: then there are no parts
  std::string why_not;                ///< empty: there are parts

  [[nodiscard]] Seconds time() const;  ///< sum of the steps
};

/// Lists the batches that are tried for a layer, ascending, its own last. Empty: the layer is no
/// convolution of several images, and no gradient of one.
[[nodiscard]] std::vector<std::int64_t> part_sizes(const model::LayerSpec& spec,
                                                   results::BatchPolicy policy);

/// Divides a layer with part_sizes(), by hot times of the same layer with smaller batches and of
/// model::part_additions(). Each size counts with the library's choice, or with the fastest variant
/// that keeps the cap where that does not. What a part adds is in its workspace.
[[nodiscard]] LayerDivision divide_layer(const ResultSet& results,
                                         const model::LayerSpec& spec,
                                         const results::DivisionRule& rule);

}  // namespace plumb::analysis
