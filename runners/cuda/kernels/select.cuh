// SPDX-License-Identifier: Apache-2.0
// Kernels that look up where an element comes from: gather, pad, resize.
namespace plumb::cuda::kernels {

template <class Element, class At>
__device__ inline void gather(const Operands& operands, const GatherShape& shape) {
  for (Index i = first_element(); i < shape.space.count; i += element_step()) {
    Index at[3];
    locate(shape.space, i, 3, at);
    Index chosen = static_cast<Index>(static_cast<const At*>(operands.at[2])[at[2]]);
    chosen += chosen < 0 ? shape.extent : 0;
    chosen = chosen < 0 ? 0 : chosen < shape.extent ? chosen : shape.extent - 1;
    static_cast<Element*>(operands.at[0])[at[0]] = static_cast<const Element*>(
        operands.at[1])[at[1] + chosen * shape.axis_stride];
  }
}

/// Returns the input's position along one axis. -1: there is none, and the element is filled.
__device__ inline Index position_in(Index position, Index extent, int mode) {
  if (position >= 0 && position < extent) {
    return position;
  }
  if (mode == 1) {
    const Index period = extent > 1 ? 2 * (extent - 1) : 1;
    Index folded = position % period;
    folded += folded < 0 ? period : 0;
    return folded < extent ? folded : period - folded;
  }
  if (mode == 2) {
    return position < 0 ? 0 : extent - 1;
  }
  if (mode == 3) {
    const Index folded = position % extent;
    return folded < 0 ? folded + extent : folded;
  }
  return -1;
}

template <class C, class Element>
__device__ inline void pad(const Operands& operands, const PadShape& shape) {
  for (Index i = first_element(); i < shape.space.count; i += element_step()) {
    Index position[kMaxAxes];
    Index out[1];
    positions_of(shape.space, i, position);
    locate(shape.space, i, 1, out);
    Index from = 0;
    bool filled = false;
    for (int axis = 0; axis < shape.space.rank; ++axis) {
      const Index inside =
          position_in(position[axis] - shape.before[axis], shape.extents[axis], shape.mode);
      filled = filled || inside < 0;
      from += inside * shape.space.strides[1][axis];
    }
    const C value = filled ? static_cast<C>(shape.value) : load<C, Element>(operands.at[1], from);
    store<C, Element>(operands.at[0], out[0], value);
  }
}

/// Returns the input's coordinate of an output position (ONNX Resize's formulas).
__device__ inline double coordinate_of(const ResizeShape& shape, int axis, Index position) {
  const double x = static_cast<double>(position);
  const double extent = static_cast<double>(shape.extents[axis]);
  const double scale = shape.scales[axis];
  const Index out = shape.space.extents[axis];
  switch (shape.coordinates) {
    case 0:
      return (x + 0.5) / scale - 0.5;
    case 1:
      return extent / 2.0 * (1.0 - static_cast<double>(out) / shape.resized[axis]) +
             (x + 0.5) / scale - 0.5;
    case 2:
      return out > 1 ? (x + 0.5) / scale - 0.5 : 0.0;
    case 3:
      return out > 1 ? x * (extent - 1.0) / (shape.resized[axis] - 1.0) : 0.0;
    case 4:
      return x / scale;
    default:
      return (x + 0.5) / scale;
  }
}

__device__ inline Index clamped(double position, Index extent) {
  return position < 0.0 ? 0
                        : (position > static_cast<double>(extent - 1) ? extent - 1
                                                                      : static_cast<Index>(position));
}

template <class Element>
__device__ inline void resize_nearest(const Operands& operands, const ResizeShape& shape) {
  for (Index i = first_element(); i < shape.space.count; i += element_step()) {
    Index position[kMaxAxes];
    Index out[1];
    positions_of(shape.space, i, position);
    locate(shape.space, i, 1, out);
    Index from = 0;
    for (int axis = 0; axis < shape.space.rank; ++axis) {
      Index inside = position[axis];
      if (axis == shape.resized_axes[0] || axis == shape.resized_axes[1]) {
        const double x = coordinate_of(shape, axis, position[axis]);
        const double near = shape.nearest == 0   ? floor(x)
                            : shape.nearest == 1 ? ceil(x)
                            : shape.nearest == 2 ? floor(x + 0.5)
                                                 : ceil(x - 0.5);
        inside = clamped(near, shape.extents[axis]);
      }
      from += inside * shape.space.strides[1][axis];
    }
    static_cast<Element*>(operands.at[0])[out[0]] =
        static_cast<const Element*>(operands.at[1])[from];
  }
}

/// Interpolates linearly along up to two axes.
template <class C, class Element>
__device__ inline void resize_linear(const Operands& operands, const ResizeShape& shape) {
  for (Index i = first_element(); i < shape.space.count; i += element_step()) {
    Index position[kMaxAxes];
    Index out[1];
    positions_of(shape.space, i, position);
    locate(shape.space, i, 1, out);
    Index from = 0;
    Index low[2] = {0, 0};
    Index high[2] = {0, 0};
    C share[2] = {C(0), C(0)};
    for (int axis = 0; axis < shape.space.rank; ++axis) {
      const Index stride = shape.space.strides[1][axis];
      const int which = axis == shape.resized_axes[0] ? 0 : (axis == shape.resized_axes[1] ? 1 : -1);
      if (which < 0) {
        from += position[axis] * stride;
        continue;
      }
      const double x = coordinate_of(shape, axis, position[axis]);
      low[which] = clamped(floor(x), shape.extents[axis]) * stride;
      high[which] = clamped(floor(x) + 1.0, shape.extents[axis]) * stride;
      share[which] = static_cast<C>(x - floor(x));
    }
    const C first = load<C, Element>(operands.at[1], from + low[0] + low[1]) * (C(1) - share[1]) +
                    load<C, Element>(operands.at[1], from + low[0] + high[1]) * share[1];
    const C second = load<C, Element>(operands.at[1], from + high[0] + low[1]) * (C(1) - share[1]) +
                     load<C, Element>(operands.at[1], from + high[0] + high[1]) * share[1];
    store<C, Element>(operands.at[0], out[0], first * (C(1) - share[0]) + second * share[0]);
  }
}

}  // namespace plumb::cuda::kernels
