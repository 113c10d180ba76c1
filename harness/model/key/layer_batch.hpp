// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "harness/model/key/layer_spec.hpp"

namespace plumb::model {

/// Returns the number of images that a convolution computes one by one, so that they may be
/// computed in parts. Absent for other layers.
[[nodiscard]] std::optional<std::int64_t> find_batch(const LayerSpec& spec);

/// Returns whether an operand of a convolution of `batch` images has a part for each image.
[[nodiscard]] bool has_images(const TensorType& operand, std::int64_t batch);

/// Returns the convolution of another number of images. Requires find_batch().
[[nodiscard]] LayerSpec with_batch(LayerSpec spec, std::int64_t batch);

}  // namespace plumb::model
