// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace plumb::stand_in {

/// Text before the kernels: what CUDA's language has and C++ has not. A thread of the host runs one
/// launch at a time, so that its copies of the variables are those of the launch.
inline constexpr const char* kPrelude = R"(
#include <cmath>
#include <cstdint>
#include <cstring>
#define __device__
#define __global__
#define __shared__ static thread_local
using std::ceil; using std::cos; using std::erf; using std::exp; using std::expm1; using std::fabs;
using std::floor; using std::fmod; using std::log; using std::log1p; using std::pow; using std::rint;
using std::sin; using std::sqrt; using std::tanh;
namespace plumb_stand_in {
struct Place { unsigned x, y, z; };
struct Places { Place thread, block, block_extents, grid_extents; };
static thread_local Places places;
}
extern "C" void* plumb_places() { return &plumb_stand_in::places; }
extern "C" { void (*plumb_barrier)() = nullptr; }
#define threadIdx (plumb_stand_in::places.thread)
#define blockIdx (plumb_stand_in::places.block)
#define blockDim (plumb_stand_in::places.block_extents)
#define gridDim (plumb_stand_in::places.grid_extents)
static void __syncthreads() { plumb_barrier(); }
static float float_of_half(unsigned short bits) {
  const unsigned exponent = bits >> 10 & 0x1f;
  const float sign = (bits & 0x8000) != 0 ? -1.0F : 1.0F;
  const auto fraction = static_cast<float>(bits & 0x3ff);
  if (exponent == 0x1f) {
    return fraction == 0.0F ? sign * INFINITY : NAN;
  }
  return sign * (exponent == 0 ? std::ldexp(fraction, -24)
                               : std::ldexp(fraction + 1024.0F, static_cast<int>(exponent) - 25));
}
static unsigned short half_of_float(float value) {
  const unsigned sign = std::signbit(value) ? 0x8000U : 0U;
  const float size = std::fabs(value);
  if (size != size) {
    return 0x7fff;
  }
  if (size == 0.0F) {
    return static_cast<unsigned short>(sign);
  }
  if (size >= 65520.0F) {
    return static_cast<unsigned short>(sign | 0x7c00U);
  }
  int exponent = 0;
  std::frexp(size, &exponent);
  exponent = exponent < -13 ? -13 : exponent;
  const auto steps = static_cast<unsigned>(std::nearbyint(std::ldexp(size, 11 - exponent)));
  // A fraction that rounds up to the next power of two carries into the exponent.
  const unsigned below = static_cast<unsigned>(exponent + 13) << 10;
  return static_cast<unsigned short>(sign | (below + steps));
}
)";

}  // namespace plumb::stand_in
