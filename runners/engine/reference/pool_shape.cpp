// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/reference/pool_shape.hpp"

namespace plumb::engine::reference {

PoolShape pool_shape(const model::LayerSpec& spec) {
  const Dims& x = spec.inputs[0]->dims;
  const Dims& y = spec.outputs[0].dims;
  require(x.size() >= 3 && x.size() <= 5, spec, "x does not have one to three spatial axes");
  const std::size_t axes = x.size() - 2;
  const Dims& kernel = spec.integers("kernel");
  const Dims& strides = spec.integers("strides");
  const Dims& dilations = spec.integers("dilations");
  const Dims& pads = spec.integers("pads");
  require(y.size() == x.size() && y[0] == x[0] && y[1] == x[1] && kernel.size() == axes &&
              strides.size() == axes && dilations.size() == axes && pads.size() == 2 * axes,
          spec,
          "kernel, strides, dilations, pads or the output do not fit the input");
  PoolShape shape;
  shape.planes = x[0] * x[1];
  for (std::size_t axis = 0; axis < axes; ++axis) {
    constexpr std::int64_t kMost = std::int64_t{1} << 30;
    const std::size_t to = 3 - axes + axis;
    shape.in[to] = x[axis + 2];
    shape.out[to] = y[axis + 2];
    shape.kernel[to] = kernel[axis];
    shape.strides[to] = strides[axis];
    shape.dilations[to] = dilations[axis];
    shape.pads[to] = pads[axis];
    shape.end_pads[to] = pads[axis + axes];
    for (const std::int64_t value : {kernel[axis], strides[axis], dilations[axis]}) {
      require(value >= 1 && value < kMost, spec, "kernel, strides or dilations are out of range");
    }
    for (const std::int64_t value : {pads[axis], pads[axis + axes], x[axis + 2], y[axis + 2]}) {
      require(value >= 0 && value < kMost, spec, "pads or extents are out of range");
    }
    const std::int64_t room =
        x[axis + 2] + pads[axis] + pads[axis + axes] - dilations[axis] * (kernel[axis] - 1) - 1;
    const std::int64_t whole = room / strides[axis] + 1;
    const bool rounded_up = spec.integer("ceil_mode") != 0 && room % strides[axis] != 0;
    // When rounding up, a last window that would start behind the input may be dropped or not.
    require(room >= 0 && (y[axis + 2] == whole || (rounded_up && y[axis + 2] == whole + 1)),
            spec,
            "the output's extent does not follow from the input's");
  }
  return shape;
}

}  // namespace plumb::engine::reference
