// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "runners/engine/reference/numbers.hpp"

namespace plumb::engine::reference {

/// Extents of a pool, always with three spatial axes; missing ones are 1.
struct PoolShape {
  std::int64_t planes = 1;  ///< batch × channels
  std::array<std::int64_t, 3> in{1, 1, 1};
  std::array<std::int64_t, 3> out{1, 1, 1};
  std::array<std::int64_t, 3> kernel{1, 1, 1};
  std::array<std::int64_t, 3> strides{1, 1, 1};
  std::array<std::int64_t, 3> dilations{1, 1, 1};
  std::array<std::int64_t, 3> pads{0, 0, 0};
  std::array<std::int64_t, 3> end_pads{0, 0, 0};
};

/// Reads and checks the shapes of a pool, so that all indices made from them are in range. Throws
/// Error{kUser}.
[[nodiscard]] PoolShape pool_shape(const model::LayerSpec& spec);

/// Calls `visit(value)` for every element of `plane` inside the window at output position `at`. The
/// value is the plane's own element, so that its address tells its position. Returns how many
/// positions of the window lie inside the padded input.
template <typename Visitor>
std::int64_t visit_window(const PoolShape& shape,
                          const double* plane,
                          const std::array<std::int64_t, 3>& at,
                          Visitor&& visit) {
  std::int64_t inside_padded = 0;
  for (std::int64_t d = 0; d < shape.kernel[0]; ++d) {
    const std::int64_t z = at[0] * shape.strides[0] - shape.pads[0] + d * shape.dilations[0];
    for (std::int64_t h = 0; h < shape.kernel[1]; ++h) {
      const std::int64_t y = at[1] * shape.strides[1] - shape.pads[1] + h * shape.dilations[1];
      for (std::int64_t w = 0; w < shape.kernel[2]; ++w) {
        const std::int64_t x = at[2] * shape.strides[2] - shape.pads[2] + w * shape.dilations[2];
        if (z < shape.in[0] + shape.end_pads[0] && y < shape.in[1] + shape.end_pads[1] &&
            x < shape.in[2] + shape.end_pads[2]) {
          ++inside_padded;
        }
        if (z >= 0 && z < shape.in[0] && y >= 0 && y < shape.in[1] && x >= 0 && x < shape.in[2]) {
          visit(plane[(z * shape.in[1] + y) * shape.in[2] + x]);
        }
      }
    }
  }
  return inside_padded;
}

}  // namespace plumb::engine::reference
