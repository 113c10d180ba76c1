// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/analysis/bounds/result_set.hpp"
#include "harness/model/key/layer_spec.hpp"

namespace plumb::analysis {

/// Workspace that a layer may use where nothing else is said: that of µ-cuDNN.
constexpr Bytes kDefaultWorkspaceCap{std::int64_t{64} << 20};

/// Fastest way to execute a convolution, in parts of its batch or as a whole, under a cap of
/// workspace.
struct LayerDivision {
  std::vector<KeyTime> parts;         ///< in order; one: the batch is not divided
  std::vector<model::LayerKey> keys;  ///< of the parts, one to one
  std::string variant;                ///< that executes the layer so (results::divided_variant)
  bool own_choice = false;            ///< it is the library's own choice
  std::vector<std::int64_t> missing;  ///< batches without a time: then there are no parts
  std::string why_not;                ///< empty: there are parts
};

/// Lists the batches that are tried for a layer, ascending: powers of two, and its own. Empty: the
/// layer is no convolution of several images.
[[nodiscard]] std::vector<std::int64_t> part_sizes(const model::LayerSpec& spec);

/// Divides a layer with part_sizes(), by hot times of the same layer with smaller batches. Each
/// size counts with the library's choice, or with the fastest variant that keeps the cap where
/// that does not.
[[nodiscard]] LayerDivision divide_layer(const ResultSet& results,
                                         const model::LayerSpec& spec,
                                         Bytes cap);

}  // namespace plumb::analysis
