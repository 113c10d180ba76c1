// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "harness/model/key/layer_spec.hpp"

namespace plumb::model {

/// Returns the number of images that a convolution, or its gradient, computes one by one, so that
/// they may be computed in parts. Absent for other layers.
[[nodiscard]] std::optional<std::int64_t> find_batch(const LayerSpec& spec);

/// Returns whether an operand has a part for each image. Requires find_batch().
[[nodiscard]] bool has_images(const LayerSpec& spec, std::size_t operand);

/// Returns whether what the parts compute adds up to the layer's results, as gradients of weights
/// do. The results of others have a part for each image.
[[nodiscard]] bool adds_parts(const LayerSpec& spec);

/// Lists the layers that add what one part computes to what the parts before it computed, one for
/// each result. Empty: the parts need no additions.
[[nodiscard]] std::vector<LayerKey> part_additions(const LayerSpec& spec);

/// Returns the layer of another number of images. Requires find_batch().
[[nodiscard]] LayerSpec with_batch(LayerSpec spec, std::int64_t batch);

}  // namespace plumb::model
