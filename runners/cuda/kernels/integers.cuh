// SPDX-License-Identifier: Apache-2.0
// Chains of steps that make a result of a number. Each step works on what the step before it left.
// `at` says where the operand of a step lies in its buffer.
namespace plumb::cuda::kernels {

template <class... All>
struct Steps {
  template <class C>
  static __device__ inline C of(C x, const Operands&, const Index*, const StepShape::Parameters&) {
    return x;
  }
};
template <class First, class... Rest>
struct Steps<First, Rest...> {
  template <class C>
  static __device__ inline C of(C x,
                                const Operands& operands,
                                const Index* at,
                                const StepShape::Parameters& parameters) {
    return Steps<Rest...>::of(
        First::of(x, operands, at, parameters), operands, at, parameters);
  }
};

/// Step that applies a function of one number.
template <class Function, int Step>
struct Apply {
  template <class C>
  static __device__ inline C of(C x,
                                const Operands&,
                                const Index*,
                                const StepShape::Parameters& parameters) {
    return Function::of(
        x, static_cast<C>(parameters.of[Step][0]), static_cast<C>(parameters.of[Step][1]));
  }
};

/// Step that applies a function of two numbers. The second is an operand's.
template <class Function, class Element, int Place>
struct Combine {
  template <class C>
  static __device__ inline C of(C x,
                                const Operands& operands,
                                const Index* at,
                                const StepShape::Parameters&) {
    return Function::of(x, load<C, Element>(operands.at[Place], at[Place]), C(0), C(0));
  }
};

/// Step that subtracts what shifting a factor by its zero point adds to a sum. That is the zero
/// point, less what was already taken off, times the sum of the other factor.
template <class Element, int Sums, int Zero, int Taken>
struct Unshift {
  static __device__ inline int of(int x,
                                  const Operands& operands,
                                  const Index* at,
                                  const StepShape::Parameters&) {
    const int zero = (Zero == 0 ? 0 : load<int, Element>(operands.at[Zero], 0)) - Taken;
    return x - zero * load<int, int>(operands.at[Sums], at[Sums]);
  }
};

/// Returns the smallest and the largest number of a type of 8 bits.
template <class Element>
__device__ constexpr int low_end() {
  static_assert(sizeof(Element) == 1);
  return Element(-1) < Element(0) ? -128 : 0;
}
template <class Element>
__device__ constexpr int high_end() {
  return low_end<Element>() + 255;
}

/// Step that brings a number onto a grid of integers. It divides by the scale, rounds to nearest,
/// ties to even, adds the zero point, and clamps to the type's range. `Zero` is the place of the
/// zero point; 0: there is none.
template <class Grid, class ScaleElement, int Scale, int Zero>
struct Round {
  template <class C>
  static __device__ inline C of(C x,
                                const Operands& operands,
                                const Index* at,
                                const StepShape::Parameters&) {
    C rounded = rint(x / load<C, ScaleElement>(operands.at[Scale], at[Scale]));
    if (Zero != 0) {
      rounded += load<C, Grid>(operands.at[Zero], at[Zero]);
    }
    return smaller_of(larger_of(rounded, C(low_end<Grid>())), C(high_end<Grid>()));
  }
};

/// Executes the steps on a sum, in whole numbers, then in real ones. Stores the result.
template <class C, class Y, class Whole, class Real>
__device__ inline void finish(const Operands& operands,
                              const Index* at,
                              const StepShape::Parameters& parameters,
                              int sum) {
  const C real = static_cast<C>(Whole::of(sum, operands, at, parameters));
  store<C, Y>(operands.at[0], at[0], Real::of(real, operands, at, parameters));
}

/// Executes steps on each element of operand 1.
template <class C, class Y, class X, int Count, class Real>
__device__ inline void map_steps(const Operands& operands, const StepShape& shape) {
  for (Index i = first_element(); i < shape.space.count; i += element_step()) {
    Index at[Count];
    locate(shape.space, i, Count, at);
    const C x = load<C, X>(operands.at[1], at[1]);
    store<C, Y>(operands.at[0], at[0], Real::of(x, operands, at, shape.parameters));
  }
}

/// Executes steps on each sum of a product of integers, operand 1.
template <class C, class Y, int Count, class Whole, class Real>
__device__ inline void map_sums(const Operands& operands, const StepShape& shape) {
  for (Index i = first_element(); i < shape.space.count; i += element_step()) {
    Index at[Count];
    locate(shape.space, i, Count, at);
    finish<C, Y, Whole, Real>(
        operands, at, shape.parameters, load<int, int>(operands.at[1], at[1]));
  }
}

// Products of 8-bit integers, exact in s32. A thread works on one element per step. Operand 0 is
// the output, 1 and 2 are the factors, 3 and 4 their zero points. The operands of steps follow.

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
  const int turned = high_end<X>() == 255 ? 128 : 0;
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
