// SPDX-License-Identifier: Apache-2.0
// Kernels that compute each output element by itself. A thread works on one element per step.
namespace plumb::cuda::kernels {

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
