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
