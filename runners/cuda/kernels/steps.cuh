// SPDX-License-Identifier: Apache-2.0
// What becomes of a number on its way to the result: a chain of steps, each on what the step before
// it left. A step finds its own operand at the place that it is told, where `at` says.
namespace plumb::cuda::kernels {

template <class... All>
struct Steps {
  template <class C>
  static __device__ inline C of(C x, const Operands&, const Index*, const StepParameters&) {
    return x;
  }
};
template <class First, class... Rest>
struct Steps<First, Rest...> {
  template <class C>
  static __device__ inline C of(C x,
                                const Operands& operands,
                                const Index* at,
                                const StepParameters& parameters) {
    return Steps<Rest...>::of(
        First::of(x, operands, at, parameters), operands, at, parameters);
  }
};

/// Takes a function of one number.
template <class Function, int Step>
struct Apply {
  template <class C>
  static __device__ inline C of(C x,
                                const Operands&,
                                const Index*,
                                const StepParameters& parameters) {
    return Function::of(
        x, static_cast<C>(parameters.of[Step][0]), static_cast<C>(parameters.of[Step][1]));
  }
};

/// Takes a function of two numbers: the second is an operand's.
template <class Function, class Element, int Place>
struct Combine {
  template <class C>
  static __device__ inline C of(C x,
                                const Operands& operands,
                                const Index* at,
                                const StepParameters&) {
    return Function::of(x, load<C, Element>(operands.at[Place], at[Place]), C(0), C(0));
  }
};

/// Takes off what shifting a factor by its zero point adds to a sum: that zero point, less what was
/// already taken off, times the sum of the other factor.
template <class Element, int Sums, int Zero, int Taken>
struct Unshift {
  static __device__ inline int of(int x,
                                  const Operands& operands,
                                  const Index* at,
                                  const StepParameters&) {
    const int zero = (Zero == 0 ? 0 : load<int, Element>(operands.at[Zero], 0)) - Taken;
    return x - zero * load<int, int>(operands.at[Sums], at[Sums]);
  }
};

template <class Element>
struct Ends;
template <>
struct Ends<signed char> {
  static constexpr int kLow = -128;
  static constexpr int kHigh = 127;
};
template <>
struct Ends<unsigned char> {
  static constexpr int kLow = 0;
  static constexpr int kHigh = 255;
};

/// Brings a number onto a grid of integers: by its scale, to the nearest, ties to even, and into
/// the type's range. Zero is the place of the grid's zero point; 0: there is none.
template <class Grid, class ScaleElement, int Scale, int Zero>
struct Round {
  template <class C>
  static __device__ inline C of(C x,
                                const Operands& operands,
                                const Index* at,
                                const StepParameters&) {
    C rounded = rint(x / load<C, ScaleElement>(operands.at[Scale], at[Scale]));
    if (Zero != 0) {
      rounded += load<C, Grid>(operands.at[Zero], at[Zero]);
    }
    return smaller_of(greater_of(rounded, C(Ends<Grid>::kLow)), C(Ends<Grid>::kHigh));
  }
};

/// Ends the way of a sum: steps in whole numbers, then in real ones.
template <class C, class Y, class Whole, class Real>
__device__ inline void finish(const Operands& operands,
                              const Index* at,
                              const StepParameters& parameters,
                              int sum) {
  const C real = static_cast<C>(Whole::of(sum, operands, at, parameters));
  store<C, Y>(operands.at[0], at[0], Real::of(real, operands, at, parameters));
}

/// Takes each element of operand 1 through steps.
template <class C, class Y, class X, int Count, class Real>
__device__ inline void map_steps(const Operands& operands, const StepShape& shape) {
  for (Index i = first_element(); i < shape.space.count; i += element_step()) {
    Index at[Count];
    locate(shape.space, i, Count, at);
    const C x = load<C, X>(operands.at[1], at[1]);
    store<C, Y>(operands.at[0], at[0], Real::of(x, operands, at, shape.parameters));
  }
}

/// The same for sums of products of integers, operand 1.
template <class C, class Y, int Count, class Whole, class Real>
__device__ inline void map_sums(const Operands& operands, const StepShape& shape) {
  for (Index i = first_element(); i < shape.space.count; i += element_step()) {
    Index at[Count];
    locate(shape.space, i, Count, at);
    finish<C, Y, Whole, Real>(
        operands, at, shape.parameters, load<int, int>(operands.at[1], at[1]));
  }
}

}  // namespace plumb::cuda::kernels
