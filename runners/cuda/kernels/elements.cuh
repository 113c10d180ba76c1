// SPDX-License-Identifier: Apache-2.0
// Conversions of binary16 by the processor's own instructions, because NVRTC comes without the
// toolkit's headers. Other compilers of the kernels bring functions of their own.
#ifdef __CUDACC_RTC__
__device__ inline float float_of_half(unsigned short bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}
__device__ inline unsigned short half_of_float(float value) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}
#endif

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

// Makes a number an element. Integers drop the fraction and wrap around, and NaN becomes 0.
template <class Compute, class Element>
__device__ inline void assign(Element& to, Compute value) {
  to = static_cast<Element>(value != value ? Index(0) : static_cast<Index>(value));
}
template <class Compute>
__device__ inline void assign(float& to, Compute value) {
  to = static_cast<float>(value);
}
template <class Compute>
__device__ inline void assign(double& to, Compute value) {
  to = static_cast<double>(value);
}
template <class Compute>
__device__ inline void assign(Half& to, Compute value) {
  to.bits = half_of_float(static_cast<float>(value));
}
template <class Compute>
__device__ inline void assign(Bfloat& to, Compute value) {
  union {
    float value;
    unsigned bits;
  } word;
  word.value = static_cast<float>(value);
  // Round to nearest, ties to even. NaN stays NaN.
  const unsigned rounded = (word.bits + 0x7fffu + ((word.bits >> 16) & 1u)) >> 16;
  to.bits = static_cast<unsigned short>(word.value != word.value ? 0x7fc0u : rounded);
}
template <class Compute>
__device__ inline void assign(Boolean& to, Compute value) {
  to.bits = value != Compute(0) ? 1 : 0;
}

template <class Compute, class Element>
__device__ inline void store(void* base, Index at, Compute value) {
  assign(static_cast<Element*>(base)[at], value);
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

// 8-bit floats (OFP8), and how they are converted from and to the type that is computed in.

struct Float8E4M3 {
  unsigned char bits;
};
struct Float8E5M2 {
  unsigned char bits;
};

union FloatBits {
  float value;
  unsigned bits;
};

// An e5m2 is a half without the last eight bits of its fraction.
template <>
__device__ inline float load<float, Float8E5M2>(const void* base, Index at) {
  const unsigned bits = static_cast<const Float8E5M2*>(base)[at].bits;
  return float_of_half(static_cast<unsigned short>(bits << 8));
}
template <>
__device__ inline float load<float, Float8E4M3>(const void* base, Index at) {
  const unsigned bits = static_cast<const Float8E4M3*>(base)[at].bits;
  FloatBits word;
  word.bits = (bits & 0x7fu) == 0x7fu ? 0x7fc00000u : (bits & 0x7fu) << 20;
  // From e4m3's bias of the exponent to float's, times 2^(127 - 7). It is exact, also for
  // subnormals.
  const float magnitude = word.value * 1329227995784915872903807060280344576.0f;
  return (bits & 0x80u) != 0 ? -magnitude : magnitude;
}

// Narrows a number to float. A double that is no float is rounded to an odd one, so that the later
// rounding is the only one.
template <class Compute>
__device__ inline float narrowed(Compute value) {
  return static_cast<float>(value);
}
template <>
__device__ inline float narrowed<double>(double value) {
  FloatBits word;
  word.value = static_cast<float>(value);
  const double back = static_cast<double>(word.value);
  if (back != value && value == value) {
    word.bits -= fabs(back) > fabs(value) ? 1 : 0;
    word.bits |= 1;
  }
  return word.value;
}

// Rounds to nearest, ties to even. Numbers beyond the largest become that, and NaN stays NaN.
template <int Fraction, int Bias>
__device__ inline unsigned char float8_bits(float value, float largest) {
  if (value != value) {
    return 0x7f;
  }
  FloatBits word;
  word.value = value;
  const unsigned sign = word.bits >> 31 << 7;
  word.bits &= 0x7fffffffu;
  word.value = word.value < largest ? word.value : largest;
  constexpr unsigned kSmallestNormal = (128u - Bias) << 23;
  if (word.bits < kSmallestNormal) {
    FloatBits ruler;  // in a sum with it one unit of a subnormal is the last bit
    ruler.bits = kSmallestNormal + ((23u - Fraction) << 23);
    word.value += ruler.value;
    return static_cast<unsigned char>(sign | (word.bits - ruler.bits));
  }
  constexpr unsigned kDropped = 23 - Fraction;
  const unsigned half_less_tie = (1u << (kDropped - 1)) - 1 + ((word.bits >> kDropped) & 1u);
  const unsigned rounded = (word.bits - ((127u - Bias) << 23) + half_less_tie) >> kDropped;
  return static_cast<unsigned char>(sign | rounded);
}

template <class Compute>
__device__ inline void assign(Float8E4M3& to, Compute value) {
  to.bits = float8_bits<3, 7>(narrowed(value), 448.0f);
}
template <class Compute>
__device__ inline void assign(Float8E5M2& to, Compute value) {
  to.bits = float8_bits<2, 15>(narrowed(value), 57344.0f);
}

}  // namespace plumb::cuda::kernels
