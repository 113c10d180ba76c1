// SPDX-License-Identifier: Apache-2.0
// 8-bit floats (OFP8), and how they are converted from and to the type that is computed in.
namespace plumb::cuda::kernels {

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
struct Store<Compute, Float8E4M3> {
  static __device__ inline void to(void* base, Index at, Compute value) {
    static_cast<Float8E4M3*>(base)[at].bits = float8_bits<3, 7>(narrowed(value), 448.0f);
  }
};
template <class Compute>
struct Store<Compute, Float8E5M2> {
  static __device__ inline void to(void* base, Index at, Compute value) {
    static_cast<Float8E5M2*>(base)[at].bits = float8_bits<2, 15>(narrowed(value), 57344.0f);
  }
};

}  // namespace plumb::cuda::kernels
