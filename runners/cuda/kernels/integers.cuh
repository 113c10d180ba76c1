// SPDX-License-Identifier: Apache-2.0
// Products of 8-bit integers, exact in s32. A thread works on one element per step. Operand 0 is
// the output, 1 and 2 are the factors, 3 and 4 their zero points. The operands of steps follow.
namespace plumb::cuda::kernels {

template <class A, class B, class C, class Y, int Count, class Whole, class Real>
__device__ inline void integer_product(const Operands& operands, const ProductShape& shape) {
  const int of_a = shape.has_zero[0] ? load<int, A>(operands.at[3], 0) : 0;
  const int of_b = shape.has_zero[1] ? load<int, B>(operands.at[4], 0) : 0;
  for (Index i = first_element(); i < shape.space.count; i += element_step()) {
    Index at[Count];
    locate(shape.space, i, Count, at);
    int sum = 0;
    for (Index k = 0; k < shape.depth; ++k) {
      sum += (load<int, A>(operands.at[1], at[1] + k * shape.steps[0]) - of_a) *
             (load<int, B>(operands.at[2], at[2] + k * shape.steps[1]) - of_b);
    }
    finish<C, Y, Whole, Real>(operands, at, shape.parameters, sum);
  }
}

/// Returns the sum of products over one window. `image` says where the image of this entry begins,
/// `filter` where the filter of this channel does.
template <class X, class W>
__device__ inline int window_sum(const Operands& operands,
                                 const WindowShape& shape,
                                 const Index* position,
                                 Index image,
                                 Index filter,
                                 int of_x,
                                 int of_w) {
  int sum = 0;
  Index tap[3];
  for (tap[0] = 0; tap[0] < shape.kernel[0]; ++tap[0]) {
    for (tap[1] = 0; tap[1] < shape.kernel[1]; ++tap[1]) {
      for (tap[2] = 0; tap[2] < shape.kernel[2]; ++tap[2]) {
        Index x = image;
        Index w = filter;
        bool inside = true;
        for (int axis = 0; axis < 3; ++axis) {
          const Index there = position[axis + 2] * shape.strides[axis] - shape.pads[axis] +
                              tap[axis] * shape.dilations[axis];
          inside = inside && there >= 0 && there < shape.in[axis];
          x += there * shape.image_steps[axis + 1];
          w += tap[axis] * shape.filter_steps[axis + 1];
        }
        for (Index channel = 0; inside && channel < shape.channels; ++channel) {
          sum += (load<int, X>(operands.at[1], x + channel * shape.image_steps[0]) - of_x) *
                 (load<int, W>(operands.at[2], w + channel * shape.filter_steps[0]) - of_w);
        }
      }
    }
  }
  return sum;
}

template <class X, class W, class C, class Y, int Count, class Whole, class Real>
__device__ inline void integer_convolution(const Operands& operands, const WindowShape& shape) {
  const int of_x = shape.has_zero[0] ? load<int, X>(operands.at[3], 0) : 0;
  for (Index i = first_element(); i < shape.space.count; i += element_step()) {
    Index at[Count];
    Index position[kMaxAxes];
    locate(shape.space, i, Count, at);
    positions_of(shape.space, i, position);
    const Index group = position[1] / shape.group_filters;
    const int of_w = shape.has_zero[1] ? load<int, W>(operands.at[4], at[4]) : 0;
    const int sum = window_sum<X, W>(operands,
                                     shape,
                                     position,
                                     at[1] + group * shape.channels * shape.image_steps[0],
                                     at[2],
                                     of_x,
                                     of_w);
    finish<C, Y, Whole, Real>(operands, at, shape.parameters, sum);
  }
}

/// Copies integers as s8, with their zero point around them. u8 become 128 less, which is the same
/// byte with its highest bit flipped. Operand 2 is the zero point.
template <class X>
__device__ inline void shift_integers(const Operands& operands, const ShiftShape& shape) {
  const int turned = Ends<X>::kHigh == 255 ? 128 : 0;
  const int zero = (shape.has_zero ? load<int, X>(operands.at[2], 0) : 0) - turned;
  for (Index i = first_element(); i < shape.space.count; i += element_step()) {
    Index at[2];
    Index position[kMaxAxes];
    locate(shape.space, i, 2, at);
    positions_of(shape.space, i, position);
    Index from = 0;
    bool inside = true;
    for (int axis = 0; axis < shape.space.rank; ++axis) {
      const Index there = position[axis] - shape.before[axis];
      inside = inside && there >= 0 && there < shape.extents[axis];
      from += there * shape.space.strides[1][axis];
    }
    static_cast<signed char*>(operands.at[0])[at[0]] = static_cast<signed char>(
        inside ? load<int, X>(operands.at[1], from) - turned : zero);
  }
}

/// Sums lines of s8. A thread works on one line per step.
__device__ inline void add_up_integers(const Operands& operands, const LineShape& shape) {
  for (Index i = first_element(); i < shape.space.count; i += element_step()) {
    Index at[2];
    locate(shape.space, i, 2, at);
    int sum = 0;
    for (Index k = 0; k < shape.length; ++k) {
      sum += load<int, signed char>(operands.at[1], at[1] + k * shape.step);
    }
    static_cast<int*>(operands.at[0])[at[0]] = sum;
  }
}

}  // namespace plumb::cuda::kernels
