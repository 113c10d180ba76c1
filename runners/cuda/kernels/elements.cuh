// SPDX-License-Identifier: Apache-2.0
// Element types, and how they are converted from and to the type that is computed in.
namespace plumb::cuda::kernels {

struct Half {
  unsigned short bits;
};
struct Bfloat {
  unsigned short bits;
};
struct Boolean {
  unsigned char bits;
};

template <class Compute, class Element>
__device__ inline Compute load(const void* base, Index at) {
  return static_cast<Compute>(static_cast<const Element*>(base)[at]);
}
template <>
__device__ inline float load<float, Half>(const void* base, Index at) {
  return float_of_half(static_cast<const Half*>(base)[at].bits);
}
template <>
__device__ inline float load<float, Bfloat>(const void* base, Index at) {
  union {
    unsigned bits;
    float value;
  } word;
  word.bits = static_cast<unsigned>(static_cast<const Bfloat*>(base)[at].bits) << 16;
  return word.value;
}
template <>
__device__ inline Index load<Index, Boolean>(const void* base, Index at) {
  return static_cast<const Boolean*>(base)[at].bits != 0 ? 1 : 0;
}
template <>
__device__ inline float load<float, Boolean>(const void* base, Index at) {
  return static_cast<const Boolean*>(base)[at].bits != 0 ? 1.0f : 0.0f;
}

// Store of a number as an element. Integers drop the fraction and wrap around, and NaN becomes 0.
template <class Compute, class Element>
struct Store {
  static __device__ inline void to(void* base, Index at, Compute value) {
    static_cast<Element*>(base)[at] =
        static_cast<Element>(value != value ? Index(0) : static_cast<Index>(value));
  }
};
template <class Compute>
struct Store<Compute, float> {
  static __device__ inline void to(void* base, Index at, Compute value) {
    static_cast<float*>(base)[at] = static_cast<float>(value);
  }
};
template <class Compute>
struct Store<Compute, double> {
  static __device__ inline void to(void* base, Index at, Compute value) {
    static_cast<double*>(base)[at] = static_cast<double>(value);
  }
};
template <class Compute>
struct Store<Compute, Half> {
  static __device__ inline void to(void* base, Index at, Compute value) {
    static_cast<Half*>(base)[at].bits = half_of_float(static_cast<float>(value));
  }
};
template <class Compute>
struct Store<Compute, Bfloat> {
  static __device__ inline void to(void* base, Index at, Compute value) {
    union {
      float value;
      unsigned bits;
    } word;
    word.value = static_cast<float>(value);
    // Round to nearest, ties to even. NaN stays NaN.
    const unsigned rounded = (word.bits + 0x7fffu + ((word.bits >> 16) & 1u)) >> 16;
    static_cast<Bfloat*>(base)[at].bits =
        static_cast<unsigned short>(word.value != word.value ? 0x7fc0u : rounded);
  }
};
template <class Compute>
struct Store<Compute, Boolean> {
  static __device__ inline void to(void* base, Index at, Compute value) {
    static_cast<Boolean*>(base)[at].bits = value != Compute(0) ? 1 : 0;
  }
};

template <class Compute, class Element>
__device__ inline void store(void* base, Index at, Compute value) {
  Store<Compute, Element>::to(base, at, value);
}

/// Finds where an element of the space lies in each of the first `operands` operands.
__device__ inline void locate(const Space& space, Index element, int operands, Index* at) {
  for (int operand = 0; operand < operands; ++operand) {
    at[operand] = 0;
  }
  for (int axis = space.rank - 1; axis >= 0; --axis) {
    Index position;
    if (space.count < 0x7fffffff) {  // divisions of 64 bits take several times as long
      position = static_cast<unsigned>(element) % static_cast<unsigned>(space.extents[axis]);
      element = static_cast<unsigned>(element) / static_cast<unsigned>(space.extents[axis]);
    } else {
      position = element % space.extents[axis];
      element /= space.extents[axis];
    }
    for (int operand = 0; operand < operands; ++operand) {
      at[operand] += position * space.strides[operand][axis];
    }
  }
}

/// Finds the position of an element of the space along each axis.
__device__ inline void positions_of(const Space& space, Index element, Index* position) {
  for (int axis = space.rank - 1; axis >= 0; --axis) {
    position[axis] = element % space.extents[axis];
    element /= space.extents[axis];
  }
}

__device__ inline Index first_element() {
  return static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline Index element_step() {
  return static_cast<Index>(gridDim.x) * blockDim.x;
}

}  // namespace plumb::cuda::kernels
