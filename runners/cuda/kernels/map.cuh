// SPDX-License-Identifier: Apache-2.0
// Functions of one and two numbers, by the names of docs/reference/layer-keys.md. Comparisons are
// written so that NaN stays NaN.
namespace plumb::cuda::kernels {

#define PLUMB_UNARY(name, expression)                   \
  struct name##_of {                                    \
    template <class C>                                  \
    static __device__ inline C of(C x, C a, C b) {      \
      (void)a;                                          \
      (void)b;                                          \
      return static_cast<C>(expression);                \
    }                                                   \
  };

template <class C>
__device__ inline C larger_of(C a, C b) {
  return a > b ? a : b;
}
template <class C>
__device__ inline C smaller_of(C a, C b) {
  return a < b ? a : b;
}
template <class C>
__device__ inline C sigmoid_value(C x) {
  return C(1) / (C(1) + exp(-x));
}
template <class C>
__device__ inline C softplus_value(C x) {
  return larger_of(x, C(0)) + log1p(exp(-fabs(x)));
}
template <class C>
__device__ inline C hard_sigmoid_value(C x, C a, C b) {
  return larger_of(C(0), smaller_of(C(1), a * x + b));
}

PLUMB_UNARY(relu, x < C(0) ? C(0) : x)
PLUMB_UNARY(leaky_relu, x < C(0) ? a * x : x)
PLUMB_UNARY(elu, x < C(0) ? a * expm1(x) : x)
PLUMB_UNARY(selu, b * (x > C(0) ? x : a * expm1(x)))
PLUMB_UNARY(celu, larger_of(C(0), x) + smaller_of(C(0), a * expm1(x / a)))
PLUMB_UNARY(sigmoid, sigmoid_value(x))
PLUMB_UNARY(tanh, tanh(x))
PLUMB_UNARY(softplus, softplus_value(x))
PLUMB_UNARY(softsign, x / (C(1) + fabs(x)))
PLUMB_UNARY(hard_sigmoid, hard_sigmoid_value(x, a, b))
PLUMB_UNARY(hard_swish, x * hard_sigmoid_value(x, C(1.0 / 6.0), C(0.5)))
PLUMB_UNARY(silu, x * sigmoid_value(x))
PLUMB_UNARY(gelu_erf, C(0.5) * x * (C(1) + erf(x * C(0.70710678118654752440))))
PLUMB_UNARY(gelu_tanh,
            C(0.5) * x *
                (C(1) + tanh(C(0.79788456080286535588) * (x + C(0.044715) * x * x * x))))
PLUMB_UNARY(mish, x * tanh(softplus_value(x)))
PLUMB_UNARY(thresholded_relu, x > a ? x : C(0))
PLUMB_UNARY(clip, (x < a ? a : x) > b ? b : (x < a ? a : x))
PLUMB_UNARY(exp, exp(x))
PLUMB_UNARY(log, log(x))
PLUMB_UNARY(sqrt, sqrt(x))
PLUMB_UNARY(reciprocal, C(1) / x)
PLUMB_UNARY(abs, x < C(0) ? -x : x)
PLUMB_UNARY(neg, -x)
PLUMB_UNARY(sign, x > C(0) ? C(1) : (x < C(0) ? C(-1) : x))
PLUMB_UNARY(floor, floor(x))
PLUMB_UNARY(ceil, ceil(x))
PLUMB_UNARY(round, rint(x))
PLUMB_UNARY(erf, erf(x))
PLUMB_UNARY(sin, sin(x))
PLUMB_UNARY(cos, cos(x))
PLUMB_UNARY(is_nan, x != x ? C(1) : C(0))
PLUMB_UNARY(linear, a * x + b)
PLUMB_UNARY(inverse_deviation, C(1) / sqrt(x + a))  // in no key: cuDNN takes it for a variance
PLUMB_UNARY(negation, x == C(0) ? C(1) : C(0))
PLUMB_UNARY(same, x)

#define PLUMB_BINARY(name, expression)                       \
  struct name##_of {                                         \
    template <class C>                                       \
    static __device__ inline C of(C x, C y, C a, C b) {      \
      (void)a;                                               \
      (void)b;                                               \
      return static_cast<C>(expression);                     \
    }                                                        \
  };

/// Returns the quotient of integers, and 0 where the divisor is 0: CUDA leaves that undefined.
__device__ inline Index quotient_of(Index x, Index y) {
  return y == 0 ? 0 : x / y;
}
template <class C>
__device__ inline C quotient_of(C x, C y) {
  return x / y;
}
/// Returns the remainder with the sign of the dividend, and 0 where the divisor is 0.
__device__ inline Index cut_remainder(Index x, Index y) {
  return y == 0 ? 0 : x % y;
}
/// Returns the remainder with the sign of the divisor, as Python's %.
__device__ inline Index floored_remainder(Index x, Index y) {
  const Index remainder = cut_remainder(x, y);
  return remainder != 0 && (remainder < 0) != (y < 0) ? remainder + y : remainder;
}
template <class C>
__device__ inline C floored_remainder(C x, C y) {
  const C remainder = fmod(x, y);
  return remainder != C(0) && (remainder < C(0)) != (y < C(0)) ? remainder + y : remainder;
}
template <class C>
__device__ inline C cut_remainder(C x, C y) {
  return fmod(x, y);
}
__device__ inline Index power_of(Index x, Index y) {
  return static_cast<Index>(pow(static_cast<double>(x), static_cast<double>(y)));
}
template <class C>
__device__ inline C power_of(C x, C y) {
  return pow(x, y);
}

PLUMB_BINARY(add, x + y)
PLUMB_BINARY(sub, x - y)
PLUMB_BINARY(mul, x * y)
PLUMB_BINARY(div, quotient_of(x, y))
PLUMB_BINARY(max, x != x || x > y ? x : y)
PLUMB_BINARY(min, x != x || x < y ? x : y)
PLUMB_BINARY(pow, power_of(x, y))
PLUMB_BINARY(mod, floored_remainder(x, y))
PLUMB_BINARY(fmod, cut_remainder(x, y))
PLUMB_BINARY(equal, x == y ? C(1) : C(0))
PLUMB_BINARY(greater, x > y ? C(1) : C(0))
PLUMB_BINARY(less, x < y ? C(1) : C(0))
PLUMB_BINARY(greater_equal, x >= y ? C(1) : C(0))
PLUMB_BINARY(less_equal, x <= y ? C(1) : C(0))
PLUMB_BINARY(both, x != C(0) && y != C(0) ? C(1) : C(0))
PLUMB_BINARY(either, x != C(0) || y != C(0) ? C(1) : C(0))
PLUMB_BINARY(one_only, (x != C(0)) != (y != C(0)) ? C(1) : C(0))
PLUMB_BINARY(prelu, x < C(0) ? x * y : x)

// Kernels that compute each output element by itself. A thread works on one element per step.

template <class Function, class C, class Y, class X>
__device__ inline void map_one(const Operands& operands, const MapShape& shape) {
  const C a = static_cast<C>(shape.parameters[0]);
  const C b = static_cast<C>(shape.parameters[1]);
  for (Index i = first_element(); i < shape.space.count; i += element_step()) {
    Index at[2];
    locate(shape.space, i, 2, at);
    store<C, Y>(operands.at[0], at[0], Function::of(load<C, X>(operands.at[1], at[1]), a, b));
  }
}

template <class Function, class C, class Y, class X0, class X1>
__device__ inline void map_two(const Operands& operands, const MapShape& shape) {
  const C a = static_cast<C>(shape.parameters[0]);
  const C b = static_cast<C>(shape.parameters[1]);
  for (Index i = first_element(); i < shape.space.count; i += element_step()) {
    Index at[3];
    locate(shape.space, i, 3, at);
    const C x = load<C, X0>(operands.at[1], at[1]);
    const C y = load<C, X1>(operands.at[2], at[2]);
    store<C, Y>(operands.at[0], at[0], Function::of(x, y, a, b));
  }
}

/// Chooses between two elements by a condition, and copies the chosen one unchanged.
template <class Element>
__device__ inline void choose(const Operands& operands, const MapShape& shape) {
  for (Index i = first_element(); i < shape.space.count; i += element_step()) {
    Index at[4];
    locate(shape.space, i, 4, at);
    const bool first = static_cast<const unsigned char*>(operands.at[1])[at[1]] != 0;
    static_cast<Element*>(operands.at[0])[at[0]] =
        first ? static_cast<const Element*>(operands.at[2])[at[2]]
              : static_cast<const Element*>(operands.at[3])[at[3]];
  }
}

/// Normalises with known mean and variance. Operands are the output, x, scale, bias, mean,
/// variance.
template <class C, class Y, class X, class Parameter>
__device__ inline void normalize_known(const Operands& operands, const MapShape& shape) {
  const C epsilon = static_cast<C>(shape.parameters[0]);
  for (Index i = first_element(); i < shape.space.count; i += element_step()) {
    Index at[6];
    locate(shape.space, i, 6, at);
    const C x = load<C, X>(operands.at[1], at[1]);
    const C scale = load<C, Parameter>(operands.at[2], at[2]);
    const C bias = load<C, Parameter>(operands.at[3], at[3]);
    const C mean = load<C, Parameter>(operands.at[4], at[4]);
    const C variance = load<C, Parameter>(operands.at[5], at[5]);
    store<C, Y>(operands.at[0], at[0], (x - mean) / sqrt(variance + epsilon) * scale + bias);
  }
}

/// Writes one number everywhere.
template <class C, class Y>
__device__ inline void fill(const Operands& operands, const MapShape& shape) {
  for (Index i = first_element(); i < shape.space.count; i += element_step()) {
    Index at[1];
    locate(shape.space, i, 1, at);
    store<C, Y>(operands.at[0], at[0], static_cast<C>(shape.parameters[0]));
  }
}

/// Copies elements without interpreting them.
template <class Element>
__device__ inline void copy(const Operands& operands, const MapShape& shape) {
  Element* const to = static_cast<Element*>(operands.at[0]) + shape.starts[0];
  const Element* const from = static_cast<const Element*>(operands.at[1]) + shape.starts[1];
  for (Index i = first_element(); i < shape.space.count; i += element_step()) {
    Index at[2];
    locate(shape.space, i, 2, at);
    to[at[0]] = from[at[1]];
  }
}

template <class C, class Element>
__device__ inline void response(const Operands& operands, const ResponseShape& shape) {
  for (Index i = first_element(); i < shape.space.count; i += element_step()) {
    Index at[2];
    Index position[kMaxAxes];
    locate(shape.space, i, 2, at);
    positions_of(shape.space, i, position);
    const Index stride = shape.space.strides[1][1];
    C total = C(0);
    for (Index step = -shape.before; step <= shape.after; ++step) {
      const Index channel = position[1] + step;
      if (channel >= 0 && channel < shape.space.extents[1]) {
        const C x = load<C, Element>(operands.at[1], at[1] + step * stride);
        total += x * x;
      }
    }
    const C x = load<C, Element>(operands.at[1], at[1]);
    const C base = static_cast<C>(shape.bias) + static_cast<C>(shape.alpha_by_size) * total;
    store<C, Element>(operands.at[0], at[0], x / pow(base, static_cast<C>(shape.beta)));
  }
}

}  // namespace plumb::cuda::kernels
