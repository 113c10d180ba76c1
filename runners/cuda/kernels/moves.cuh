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

// Pools. A thread works on one output element per step.

// Kinds of pool: `take` adds an element of a window to the total, `give` makes the total a result.
struct MaxPool {
  template <class C>
  static __device__ inline C take(C total, C x, Index seen, double) {
    return seen == 0 || x != x || x > total ? x : total;
  }
  template <class C>
  static __device__ inline C give(C total, Index, Index, const PoolShape&) {
    return total;
  }
};
struct AveragePool {
  template <class C>
  static __device__ inline C take(C total, C x, Index, double) {
    return total + x;
  }
  template <class C>
  static __device__ inline C give(C total, Index seen, Index padded, const PoolShape& shape) {
    return total / static_cast<C>(shape.include_pad ? padded : seen);
  }
};
struct PowerPool {
  template <class C>
  static __device__ inline C take(C total, C x, Index, double power) {
    return total + pow(fabs(x), static_cast<C>(power));
  }
  template <class C>
  static __device__ inline C give(C total, Index, Index, const PoolShape& shape) {
    return pow(total, C(1) / static_cast<C>(shape.power));
  }
};

template <class Pool, class C, class Element>
__device__ inline void pool(const Operands& operands, const PoolShape& shape) {
  const Index* const strides = shape.out.strides[1];
  for (Index i = first_element(); i < shape.out.count; i += element_step()) {
    Index at[5];
    Index out[1];
    positions_of(shape.out, i, at);
    locate(shape.out, i, 1, out);
    const Index plane = at[0] * strides[0] + at[1] * strides[1];
    C total = C(0);
    Index seen = 0;
    Index padded = 0;
    for (Index d = 0; d < shape.kernel[0]; ++d) {
      const Index z = at[2] * shape.strides[0] - shape.pads[0] + d * shape.dilations[0];
      for (Index h = 0; h < shape.kernel[1]; ++h) {
        const Index y = at[3] * shape.strides[1] - shape.pads[1] + h * shape.dilations[1];
        for (Index w = 0; w < shape.kernel[2]; ++w) {
          const Index x = at[4] * shape.strides[2] - shape.pads[2] + w * shape.dilations[2];
          padded += z < shape.in[0] + shape.end_pads[0] && y < shape.in[1] + shape.end_pads[1] &&
                            x < shape.in[2] + shape.end_pads[2]
                        ? 1
                        : 0;
          if (z >= 0 && z < shape.in[0] && y >= 0 && y < shape.in[1] && x >= 0 &&
              x < shape.in[2]) {
            const Index from = plane + z * strides[2] + y * strides[3] + x * strides[4];
            total = Pool::take(
                total, load<C, Element>(operands.at[1], from), seen, shape.power);
            ++seen;
          }
        }
      }
    }
    store<C, Element>(operands.at[0], out[0], Pool::give(total, seen, padded, shape));
  }
}

}  // namespace plumb::cuda::kernels
