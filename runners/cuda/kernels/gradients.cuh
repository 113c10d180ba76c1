// SPDX-License-Identifier: Apache-2.0
// Gradients. In functions of two numbers, x is the gradient of the result and y the operand of the
// function.
namespace plumb::cuda::kernels {

template <class C>
__device__ inline C tanh_slope(C t) {
  return C(1) - t * t;
}
template <class C>
__device__ inline C gelu_erf_slope(C x) {
  return C(0.5) * (C(1) + erf(x * C(0.70710678118654752440))) +
         x * C(0.39894228040143267794) * exp(C(-0.5) * x * x);
}
template <class C>
__device__ inline C gelu_tanh_slope(C x) {
  const C scale = C(0.79788456080286535588);
  const C t = tanh(scale * (x + C(0.044715) * x * x * x));
  return C(0.5) * (C(1) + t) +
         C(0.5) * x * tanh_slope(t) * scale * (C(1) + C(0.134145) * x * x);
}
template <class C>
__device__ inline C mish_slope(C x) {
  const C t = tanh(softplus_value(x));
  return t + x * tanh_slope(t) * sigmoid_value(x);
}
template <class C>
__device__ inline C hard_swish_slope(C x) {
  return x <= C(-3) ? C(0) : (x >= C(3) ? C(1) : x / C(3) + C(0.5));
}
template <class C>
__device__ inline C when_between(C x, C low, C high, C value) {
  return x > low && x < high ? value : C(0);
}

PLUMB_BINARY(relu_gradient, y > C(0) ? x : C(0))
PLUMB_BINARY(leaky_relu_gradient, y > C(0) ? x : a * x)
PLUMB_BINARY(elu_gradient, y > C(0) ? x : x * a * exp(y))
PLUMB_BINARY(selu_gradient, b * (y > C(0) ? x : x * a * exp(y)))
PLUMB_BINARY(celu_gradient, y > C(0) ? x : x * exp(y / a))
PLUMB_BINARY(sigmoid_gradient, x * sigmoid_value(y) * (C(1) - sigmoid_value(y)))
PLUMB_BINARY(tanh_gradient, x * tanh_slope(tanh(y)))
PLUMB_BINARY(softplus_gradient, x * sigmoid_value(y))
PLUMB_BINARY(softsign_gradient, x / ((C(1) + fabs(y)) * (C(1) + fabs(y))))
PLUMB_BINARY(hard_sigmoid_gradient, x * when_between(a * y + b, C(0), C(1), a))
PLUMB_BINARY(hard_swish_gradient, x * hard_swish_slope(y))
PLUMB_BINARY(silu_gradient,
             x * sigmoid_value(y) * (C(1) + y * (C(1) - sigmoid_value(y))))
PLUMB_BINARY(gelu_erf_gradient, x * gelu_erf_slope(y))
PLUMB_BINARY(gelu_tanh_gradient, x * gelu_tanh_slope(y))
PLUMB_BINARY(mish_gradient, x * mish_slope(y))
PLUMB_BINARY(thresholded_relu_gradient, y > a ? x : C(0))
PLUMB_BINARY(clip_gradient, when_between(y, a, b, x))
PLUMB_BINARY(exp_gradient, x * exp(y))
PLUMB_BINARY(log_gradient, x / y)
PLUMB_BINARY(sqrt_gradient, C(0.5) * x / sqrt(y))
PLUMB_BINARY(reciprocal_gradient, -x / (y * y))
PLUMB_BINARY(abs_gradient, y > C(0) ? x : (y < C(0) ? -x : C(0)))
PLUMB_BINARY(neg_gradient, -x)
PLUMB_BINARY(erf_gradient, x * C(1.12837916709551257390) * exp(-y * y))
PLUMB_BINARY(sin_gradient, x * cos(y))
PLUMB_BINARY(cos_gradient, -x * sin(y))
PLUMB_BINARY(linear_gradient, a * x)

/// Computes the gradient of a softmax. Operands are the result, dy, and y, which is the softmax or,
/// with `flag`, its logarithm.
template <class C, class Element>
__device__ inline void softmax_gradient(const Operands& operands, const RowShape& shape) {
  for (Index row = blockIdx.x; row < shape.rows.count; row += gridDim.x) {
    Index start[3];
    locate(shape.rows, row, 3, start);
    C total = C(0);
    for (Index i = threadIdx.x; i < shape.line.count; i += kThreadsOfRow) {
      Index at[3];
      locate(shape.line, i, 3, at);
      const C gradient = load<C, Element>(operands.at[1], start[1] + at[1]);
      total += shape.flag ? gradient
                          : gradient * load<C, Element>(operands.at[2], start[2] + at[2]);
    }
    total = joined<Sum<C>, C>(total);
    for (Index i = threadIdx.x; i < shape.line.count; i += kThreadsOfRow) {
      Index at[3];
      locate(shape.line, i, 3, at);
      const C gradient = load<C, Element>(operands.at[1], start[1] + at[1]);
      const C y = load<C, Element>(operands.at[2], start[2] + at[2]);
      store<C, Element>(operands.at[0],
                        start[0] + at[0],
                        shape.flag ? gradient - exp(y) * total : y * (gradient - total));
    }
  }
}

/// Computes the gradient of a normalisation's data. A row is what shares a mean. Operands are the
/// result, dy, x, scale, mean and variance.
template <class C, class Element, class Parameter>
__device__ inline void normalization_gradient(const Operands& operands, const RowShape& shape) {
  const C count = static_cast<C>(shape.line.count);
  for (Index row = blockIdx.x; row < shape.rows.count; row += gridDim.x) {
    Index start[6];
    locate(shape.rows, row, 6, start);
    const C mean = load<C, Parameter>(operands.at[4], start[4]);
    const C factor =
        C(1) / sqrt(load<C, Parameter>(operands.at[5], start[5]) + static_cast<C>(shape.parameter));
    C sum = C(0);
    C product = C(0);
    for (Index i = threadIdx.x; i < shape.line.count; i += kThreadsOfRow) {
      Index at[4];
      locate(shape.line, i, 4, at);
      const C g = load<C, Element>(operands.at[1], start[1] + at[1]) *
                  load<C, Parameter>(operands.at[3], start[3] + at[3]);
      sum += g;
      product += g * (load<C, Element>(operands.at[2], start[2] + at[2]) - mean) * factor;
    }
    sum = joined<Sum<C>, C>(sum) / count;
    product = joined<Sum<C>, C>(product) / count;
    for (Index i = threadIdx.x; i < shape.line.count; i += kThreadsOfRow) {
      Index at[4];
      locate(shape.line, i, 4, at);
      const C g = load<C, Element>(operands.at[1], start[1] + at[1]) *
                  load<C, Parameter>(operands.at[3], start[3] + at[3]);
      const C unit = (load<C, Element>(operands.at[2], start[2] + at[2]) - mean) * factor;
      store<C, Element>(
          operands.at[0], start[0] + at[0], (g - sum - unit * product) * factor);
    }
  }
}

/// Computes the gradients of scale and bias. A row is what shares a scale. Operands are the
/// gradients of scale and bias, dy, x, mean and variance.
template <class C, class Element, class Parameter>
__device__ inline void parameter_gradients(const Operands& operands, const RowShape& shape) {
  for (Index row = blockIdx.x; row < shape.rows.count; row += gridDim.x) {
    Index start[6];
    locate(shape.rows, row, 6, start);
    C scale = C(0);
    C bias = C(0);
    for (Index i = threadIdx.x; i < shape.line.count; i += kThreadsOfRow) {
      Index at[6];
      locate(shape.line, i, 6, at);
      const C gradient = load<C, Element>(operands.at[2], start[2] + at[2]);
      const C centred = load<C, Element>(operands.at[3], start[3] + at[3]) -
                        load<C, Parameter>(operands.at[4], start[4] + at[4]);
      const C variance = load<C, Parameter>(operands.at[5], start[5] + at[5]);
      scale += gradient * centred / sqrt(variance + static_cast<C>(shape.parameter));
      bias += gradient;
    }
    scale = joined<Sum<C>, C>(scale);
    bias = joined<Sum<C>, C>(bias);
    if (threadIdx.x == 0) {
      store<C, Parameter>(operands.at[0], start[0], scale);
      store<C, Parameter>(operands.at[1], start[1], bias);
    }
  }
}

/// Returns whether a window reads a place of the data, along one axis.
__device__ inline bool sees(const PoolGradientShape& shape, int axis, Index window, Index place) {
  const Index from = place + shape.pads[axis] - window * shape.strides[axis];
  return from >= 0 && from % shape.dilations[axis] == 0 &&
         from / shape.dilations[axis] < shape.kernel[axis];
}
__device__ inline Index first_window(const PoolGradientShape& shape, int axis, Index place) {
  const Index reach = (shape.kernel[axis] - 1) * shape.dilations[axis];
  const Index from = place + shape.pads[axis] - reach;
  return from <= 0 ? 0 : (from + shape.strides[axis] - 1) / shape.strides[axis];
}
__device__ inline Index last_window(const PoolGradientShape& shape, int axis, Index place) {
  const Index last = (place + shape.pads[axis]) / shape.strides[axis];
  return last < shape.windows[axis] ? last : shape.windows[axis] - 1;
}

/// Counts the positions of a window along one axis that lie in the data. With `padded`, those in
/// the padded data count.
__device__ inline Index positions_seen(const PoolGradientShape& shape,
                                       int axis,
                                       Index window,
                                       bool padded) {
  Index seen = 0;
  for (Index k = 0; k < shape.kernel[axis]; ++k) {
    const Index at = window * shape.strides[axis] - shape.pads[axis] + k * shape.dilations[axis];
    seen += (padded || at >= 0) && at < shape.data[axis] + (padded ? shape.end_pads[axis] : 0)
                ? 1
                : 0;
  }
  return seen;
}

struct AverageGradient {
  template <class C, class Element>
  static __device__ inline C share(
      const Operands&, const PoolGradientShape& shape, Index, const Index* window, const Index*) {
    Index count = 1;
    for (int axis = 0; axis < 3; ++axis) {
      count *= positions_seen(shape, axis, window[axis], shape.include_pad != 0);
    }
    return C(1) / static_cast<C>(count);
  }
};

/// Share of a max pool: all of it goes to the window's largest element, the first of equal ones.
struct MaxGradient {
  template <class C, class Element>
  static __device__ inline C share(const Operands& operands,
                                   const PoolGradientShape& shape,
                                   Index plane,
                                   const Index* window,
                                   const Index* place) {
    const Index* const strides = shape.space.strides[2];
    C most = C(0);
    bool any = false;
    bool mine = false;
    Index at[3];
    for (Index d = 0; d < shape.kernel[0]; ++d) {
      at[0] = window[0] * shape.strides[0] - shape.pads[0] + d * shape.dilations[0];
      for (Index h = 0; h < shape.kernel[1]; ++h) {
        at[1] = window[1] * shape.strides[1] - shape.pads[1] + h * shape.dilations[1];
        for (Index w = 0; w < shape.kernel[2]; ++w) {
          at[2] = window[2] * shape.strides[2] - shape.pads[2] + w * shape.dilations[2];
          if (at[0] < 0 || at[0] >= shape.data[0] || at[1] < 0 || at[1] >= shape.data[1] ||
              at[2] < 0 || at[2] >= shape.data[2]) {
            continue;
          }
          const C x = load<C, Element>(
              operands.at[2],
              plane + at[0] * strides[2] + at[1] * strides[3] + at[2] * strides[4]);
          if (!any || x > most || (x != x && most == most)) {
            any = true;
            most = x;
            mine = at[0] == place[0] && at[1] == place[1] && at[2] == place[2];
          }
        }
      }
    }
    return mine ? C(1) : C(0);
  }
};

/// Sums, for each element of the data, its shares of the windows that read it. Operands are the
/// result, the gradient of the pool's result, and the data.
template <class Kind, class C, class Element>
__device__ inline void pool_gradient(const Operands& operands, const PoolGradientShape& shape) {
  const Index* const of_windows = shape.space.strides[1];
  for (Index i = first_element(); i < shape.space.count; i += element_step()) {
    Index at[5];
    Index to[1];
    positions_of(shape.space, i, at);
    locate(shape.space, i, 1, to);
    const Index* const place = at + 2;
    const Index plane = at[0] * of_windows[0] + at[1] * of_windows[1];
    const Index data = at[0] * shape.space.strides[2][0] + at[1] * shape.space.strides[2][1];
    C total = C(0);
    Index window[3];
    for (window[0] = first_window(shape, 0, place[0]); window[0] <= last_window(shape, 0, place[0]);
         ++window[0]) {
      for (window[1] = first_window(shape, 1, place[1]);
           window[1] <= last_window(shape, 1, place[1]);
           ++window[1]) {
        for (window[2] = first_window(shape, 2, place[2]);
             window[2] <= last_window(shape, 2, place[2]);
             ++window[2]) {
          if (!sees(shape, 0, window[0], place[0]) || !sees(shape, 1, window[1], place[1]) ||
              !sees(shape, 2, window[2], place[2])) {
            continue;
          }
          const Index from = plane + window[0] * of_windows[2] + window[1] * of_windows[3] +
                             window[2] * of_windows[4];
          total += load<C, Element>(operands.at[1], from) *
                   Kind::template share<C, Element>(operands, shape, data, window, place);
        }
      }
    }
    store<C, Element>(operands.at[0], to[0], total);
  }
}

/// Fills the result of a gather's gradient with zeros, before the rows are added to it.
template <class Element>
__device__ inline void clear_rows(const Operands& operands, const GatherGradientShape& shape) {
  const Index count = shape.outer * shape.extent * shape.inner;
  for (Index i = first_element(); i < count; i += element_step()) {
    static_cast<Element*>(operands.at[0])[i] = Element(0);
  }
}

/// Returns the row that an index names. One beyond all rows names the nearest.
template <class At>
__device__ inline Index chosen_row(const void* indices, Index at, Index extent) {
  Index chosen = static_cast<Index>(static_cast<const At*>(indices)[at]);
  chosen += chosen < 0 ? extent : 0;
  return chosen < 0 ? 0 : chosen < extent ? chosen : extent - 1;
}

/// Adds each row of dy to the row of the result that the gather read. Operands are the result, dy
/// and the indices.
///
/// A block works for one index. If it is the first that names its row, it adds up that row, in the
/// order of the indices. So no two blocks write the same row.
template <class Element, class At>
__device__ inline void gather_gradient(const Operands& operands, const GatherGradientShape& shape) {
  const Index count = shape.outer * shape.indices;
  for (Index row = blockIdx.x; row < count; row += gridDim.x) {
    const Index outer = row / shape.indices;
    const Index mine = row % shape.indices;
    const Index chosen = chosen_row<At>(operands.at[2], mine, shape.extent);
    Index named = 0;
    for (Index i = threadIdx.x; i < mine; i += kThreadsOfRow) {
      named = chosen_row<At>(operands.at[2], i, shape.extent) == chosen ? 1 : named;
    }
    if (joined<Largest<Index>, Index>(named) != 0) {
      continue;
    }
    Element* const to =
        static_cast<Element*>(operands.at[0]) + (outer * shape.extent + chosen) * shape.inner;
    for (Index i = mine; i < shape.indices; ++i) {
      if (chosen_row<At>(operands.at[2], i, shape.extent) != chosen) {
        continue;
      }
      const Element* const from = static_cast<const Element*>(operands.at[1]) +
                                  (outer * shape.indices + i) * shape.inner;
      for (Index k = threadIdx.x; k < shape.inner; k += kThreadsOfRow) {
        to[k] += from[k];
      }
    }
  }
}

}  // namespace plumb::cuda::kernels
