// SPDX-License-Identifier: Apache-2.0
// Chains of steps that make a result of a number. Each step works on what the step before it left.
// `at` says where the operand of a step lies in its buffer.
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

/// Step that applies a function of one number.
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

/// Step that applies a function of two numbers. The second is an operand's.
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

/// Step that subtracts what shifting a factor by its zero point adds to a sum. That is the zero
/// point, less what was already taken off, times the sum of the other factor.
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

/// Step that brings a number onto a grid of integers. It divides by the scale, rounds to nearest,
/// ties to even, adds the zero point, and clamps to the type's range. `Zero` is the place of the
/// zero point; 0: there is none.
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
    return smaller_of(larger_of(rounded, C(Ends<Grid>::kLow)), C(Ends<Grid>::kHigh));
  }
};

/// Executes the steps on a sum, in whole numbers, then in real ones. Stores the result.
template <class C, class Y, class Whole, class Real>
__device__ inline void finish(const Operands& operands,
                              const Index* at,
                              const StepParameters& parameters,
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

}  // namespace plumb::cuda::kernels
