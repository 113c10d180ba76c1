// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "harness/model/key/layer_spec.hpp"

namespace plumb::onednn {

/// Source position with its weight.
struct ResizeTap {
  std::int64_t position = 0;
  double weight = 0;
};

/// Lists the source's taps for each output position of one axis (ONNX Resize).
///
/// Positions outside count as the edge, or not at all if excluded. With mode=nearest each list has
/// one tap. Throws Unsupported if scales do not fit the ranks.
[[nodiscard]] std::vector<std::vector<ResizeTap>> resize_taps(const model::LayerSpec& spec,
                                                              std::size_t axis);

/// Lists the source position of each output position of one axis, for mode=nearest.
[[nodiscard]] std::vector<std::int64_t> nearest_indices(const model::LayerSpec& spec,
                                                        std::size_t axis);

}  // namespace plumb::onednn
