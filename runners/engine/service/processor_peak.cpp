// SPDX-License-Identifier: Apache-2.0
#include "runners/engine/service/processor_peak.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace plumb::engine {
namespace {

// A multiply-add has results after four or five cycles, and at most two begin in one: twelve chains
// keep both units busy, and fit into 16 registers with their operands.
constexpr double kChains = 12.0;

/// Loop of multiply-adds: how many operations a round has, and what runs it.
struct Loop {
  double operations = 0.0;  ///< of one round; 0: this processor has no such loop
  float (*run)(std::uint64_t rounds) = nullptr;
};

#if defined(__x86_64__)

#define PLUMB_TWELVE(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)

// All chains go to 2 = 2 · 0.5 + 1: no overflow, no denormal numbers.
__attribute__((target("avx512f"))) float run_avx512(std::uint64_t rounds) {
  const __m512 half = _mm512_set1_ps(0.5F);
  const __m512 one = _mm512_set1_ps(1.0F);
#define PLUMB_BEGIN(i) __m512 chain##i = _mm512_set1_ps(static_cast<float>(i));
#define PLUMB_STEP(i) chain##i = _mm512_fmadd_ps(chain##i, half, one);
#define PLUMB_ADD(i) sum = _mm512_add_ps(sum, chain##i);
  PLUMB_TWELVE(PLUMB_BEGIN)
  for (std::uint64_t round = 0; round < rounds; ++round) {
    PLUMB_TWELVE(PLUMB_STEP)
  }
  __m512 sum = _mm512_setzero_ps();
  PLUMB_TWELVE(PLUMB_ADD)
#undef PLUMB_BEGIN
#undef PLUMB_STEP
#undef PLUMB_ADD
  return _mm512_cvtss_f32(sum);
}

__attribute__((target("avx2,fma"))) float run_avx2(std::uint64_t rounds) {
  const __m256 half = _mm256_set1_ps(0.5F);
  const __m256 one = _mm256_set1_ps(1.0F);
#define PLUMB_BEGIN(i) __m256 chain##i = _mm256_set1_ps(static_cast<float>(i));
#define PLUMB_STEP(i) chain##i = _mm256_fmadd_ps(chain##i, half, one);
#define PLUMB_ADD(i) sum = _mm256_add_ps(sum, chain##i);
  PLUMB_TWELVE(PLUMB_BEGIN)
  for (std::uint64_t round = 0; round < rounds; ++round) {
    PLUMB_TWELVE(PLUMB_STEP)
  }
  __m256 sum = _mm256_setzero_ps();
  PLUMB_TWELVE(PLUMB_ADD)
#undef PLUMB_BEGIN
#undef PLUMB_STEP
#undef PLUMB_ADD
  return _mm256_cvtss_f32(sum);
}

__attribute__((target("avx512f,avx512bf16"))) float run_bf16(std::uint64_t rounds) {
  // 0.5 · 0.5 in all places, zeros in the accumulators: sums stay finite.
  const __m512bh half = _mm512_cvtne2ps_pbh(_mm512_set1_ps(0.5F), _mm512_set1_ps(0.5F));
#define PLUMB_BEGIN(i) __m512 chain##i = _mm512_setzero_ps();
#define PLUMB_STEP(i) chain##i = _mm512_dpbf16_ps(chain##i, half, half);
#define PLUMB_ADD(i) sum = _mm512_add_ps(sum, chain##i);
  PLUMB_TWELVE(PLUMB_BEGIN)
  for (std::uint64_t round = 0; round < rounds; ++round) {
    PLUMB_TWELVE(PLUMB_STEP)
  }
  __m512 sum = _mm512_setzero_ps();
  PLUMB_TWELVE(PLUMB_ADD)
#undef PLUMB_BEGIN
#undef PLUMB_STEP
#undef PLUMB_ADD
  return _mm512_cvtss_f32(sum);
}

__attribute__((target("avx512fp16"))) float run_f16(std::uint64_t rounds) {
  const __m512h half = _mm512_castsi512_ph(_mm512_set1_epi16(0x3800));
  const __m512h one = _mm512_castsi512_ph(_mm512_set1_epi16(0x3C00));
#define PLUMB_BEGIN(i) __m512h chain##i = _mm512_castsi512_ph(_mm512_set1_epi16(0x3C00 + (i)));
#define PLUMB_STEP(i) chain##i = _mm512_fmadd_ph(chain##i, half, one);
#define PLUMB_ADD(i) sum = _mm512_add_ph(sum, chain##i);
  PLUMB_TWELVE(PLUMB_BEGIN)
  for (std::uint64_t round = 0; round < rounds; ++round) {
    PLUMB_TWELVE(PLUMB_STEP)
  }
  __m512h sum = _mm512_castsi512_ph(_mm512_setzero_si512());
  PLUMB_TWELVE(PLUMB_ADD)
#undef PLUMB_BEGIN
#undef PLUMB_STEP
#undef PLUMB_ADD
  return _mm512_cvtss_f32(_mm512_castph_ps(sum));
}

__attribute__((target("avx512f,avx512vnni"))) float run_int8_avx512_vnni(std::uint64_t rounds) {
  const __m512i bytes = _mm512_set1_epi8(1);
#define PLUMB_BEGIN(i) __m512i chain##i = _mm512_set1_epi32(i);
#define PLUMB_STEP(i) chain##i = _mm512_dpbusd_epi32(chain##i, bytes, bytes);
#define PLUMB_ADD(i) sum = _mm512_add_epi32(sum, chain##i);
  PLUMB_TWELVE(PLUMB_BEGIN)
  for (std::uint64_t round = 0; round < rounds; ++round) {
    PLUMB_TWELVE(PLUMB_STEP)
  }
  __m512i sum = _mm512_setzero_si512();
  PLUMB_TWELVE(PLUMB_ADD)
#undef PLUMB_BEGIN
#undef PLUMB_STEP
#undef PLUMB_ADD
  return static_cast<float>(_mm512_cvtsi512_si32(sum));
}

__attribute__((target("avx2,avxvnni"))) float run_int8_avx_vnni(std::uint64_t rounds) {
  const __m256i bytes = _mm256_set1_epi8(1);
#define PLUMB_BEGIN(i) __m256i chain##i = _mm256_set1_epi32(i);
#define PLUMB_STEP(i) chain##i = _mm256_dpbusd_avx_epi32(chain##i, bytes, bytes);
#define PLUMB_ADD(i) sum = _mm256_add_epi32(sum, chain##i);
  PLUMB_TWELVE(PLUMB_BEGIN)
  for (std::uint64_t round = 0; round < rounds; ++round) {
    PLUMB_TWELVE(PLUMB_STEP)
  }
  __m256i sum = _mm256_setzero_si256();
  PLUMB_TWELVE(PLUMB_ADD)
#undef PLUMB_BEGIN
#undef PLUMB_STEP
#undef PLUMB_ADD
  return static_cast<float>(_mm256_cvtsi256_si32(sum));
}

// Without VNNI a multiply-add of bytes is three instructions. Each one takes "new" bytes as far as
// the compiler knows, or it would multiply once and add often.
__attribute__((target("avx512f,avx512bw"))) float run_int8_avx512(std::uint64_t rounds) {
  __m512i bytes = _mm512_set1_epi8(1);
  const __m512i ones = _mm512_set1_epi16(1);
#define PLUMB_BEGIN(i) __m512i chain##i = _mm512_set1_epi32(i);
#define PLUMB_STEP(i)    \
  asm("" : "+v"(bytes)); \
  chain##i =             \
      _mm512_add_epi32(chain##i, _mm512_madd_epi16(_mm512_maddubs_epi16(bytes, bytes), ones));
#define PLUMB_ADD(i) sum = _mm512_add_epi32(sum, chain##i);
  PLUMB_TWELVE(PLUMB_BEGIN)
  for (std::uint64_t round = 0; round < rounds; ++round) {
    PLUMB_TWELVE(PLUMB_STEP)
  }
  __m512i sum = _mm512_setzero_si512();
  PLUMB_TWELVE(PLUMB_ADD)
#undef PLUMB_BEGIN
#undef PLUMB_STEP
#undef PLUMB_ADD
  return static_cast<float>(_mm512_cvtsi512_si32(sum));
}

__attribute__((target("avx2"))) float run_int8_avx2(std::uint64_t rounds) {
  __m256i bytes = _mm256_set1_epi8(1);
  const __m256i ones = _mm256_set1_epi16(1);
#define PLUMB_BEGIN(i) __m256i chain##i = _mm256_set1_epi32(i);
#define PLUMB_STEP(i)    \
  asm("" : "+x"(bytes)); \
  chain##i =             \
      _mm256_add_epi32(chain##i, _mm256_madd_epi16(_mm256_maddubs_epi16(bytes, bytes), ones));
#define PLUMB_ADD(i) sum = _mm256_add_epi32(sum, chain##i);
  PLUMB_TWELVE(PLUMB_BEGIN)
  for (std::uint64_t round = 0; round < rounds; ++round) {
    PLUMB_TWELVE(PLUMB_STEP)
  }
  __m256i sum = _mm256_setzero_si256();
  PLUMB_TWELVE(PLUMB_ADD)
#undef PLUMB_BEGIN
#undef PLUMB_STEP
#undef PLUMB_ADD
  return static_cast<float>(_mm256_cvtsi256_si32(sum));
}

/// Features that not every compiler's __builtin_cpu_supports() knows.
struct ProcessorFeatures {
  bool avx_vnni = false;
  bool avx512_fp16 = false;
  bool amx_fp16 = false;
  bool amx_int8 = false;
};

ProcessorFeatures processor_features() {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  ProcessorFeatures features;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0) {
    const unsigned leaves = eax;
    features.avx512_fp16 = (edx & (1U << 23U)) != 0;
    features.amx_int8 = (edx & (1U << 25U)) != 0;
    if (leaves >= 1 && __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0) {
      features.avx_vnni = (eax & (1U << 4U)) != 0;
      features.amx_fp16 = (eax & (1U << 21U)) != 0;
    }
  }
  return features;
}

/// Returns the fastest loop that multiplies bytes. A machine with matrix tiles has none: its tiles
/// are faster than any of them.
Loop int8_loop() {
  const ProcessorFeatures features = processor_features();
  const bool avx2 = __builtin_cpu_supports("avx2") != 0;
  const bool avx512 = __builtin_cpu_supports("avx512f") != 0;
  if (features.amx_int8) {
    return {};
  }
  if (avx512 && __builtin_cpu_supports("avx512vnni") != 0) {
    return {kChains * 64.0 * 2.0, run_int8_avx512_vnni};
  }
  if (avx2 && features.avx_vnni) {
    return {kChains * 32.0 * 2.0, run_int8_avx_vnni};
  }
  if (avx512 && __builtin_cpu_supports("avx512bw") != 0) {
    return {kChains * 64.0 * 2.0, run_int8_avx512};
  }
  return avx2 ? Loop{kChains * 32.0 * 2.0, run_int8_avx2} : Loop{};
}

Loop widest_loop(model::DataType type) {
  if (type == model::DataType::kS8) {
    return int8_loop();
  }
  if (type == model::DataType::kF16) {
    const ProcessorFeatures features = processor_features();
    if (features.amx_fp16) {
      return {};
    }
    // Without instructions for f16, a product of f16 is widened to f32.
    return features.avx512_fp16 && __builtin_cpu_supports("avx512f") != 0
               ? Loop{kChains * 32.0 * 2.0, run_f16}
               : widest_loop(model::DataType::kF32);
  }
  if (type == model::DataType::kF32 && __builtin_cpu_supports("avx512f") != 0) {
    return {kChains * 16.0 * 2.0, run_avx512};
  }
  if (type == model::DataType::kF32 && __builtin_cpu_supports("avx2") != 0 &&
      __builtin_cpu_supports("fma") != 0) {
    return {kChains * 8.0 * 2.0, run_avx2};
  }
  if (type == model::DataType::kBf16 && __builtin_cpu_supports("avx512bf16") != 0) {
    return {kChains * 32.0 * 2.0, run_bf16};
  }
  return {};
}

#else

Loop widest_loop(DataType /*type*/) {
  return {};
}

#endif

Seconds measure_time(const Loop& loop,
                     int threads,
                     std::uint64_t rounds,
                     const measure::Clock& clock) {
  std::atomic<float> sink{0.0F};  // what the loops compute is used, or they might be left out
  const auto work = [&] { sink.store(loop.run(rounds), std::memory_order_relaxed); };
  const Seconds begin = clock();
  std::vector<std::thread> others;
  for (int i = 1; i < threads; ++i) {
    others.emplace_back(work);
  }
  work();
  for (std::thread& other : others) {
    other.join();
  }
  return clock() - begin;
}

}  // namespace

std::optional<FlopsPerSecond> measure_processor_peak(model::DataType type,
                                                     int threads,
                                                     const measure::Clock& clock) {
  constexpr std::uint64_t kRounds = 500'000;  // some ms: short enough for a quiet moment
  constexpr int kTries = 30;
  const Loop loop = widest_loop(type);
  std::optional<Seconds> best;
  for (int i = 0; i < kTries && loop.run != nullptr; ++i) {
    const Seconds time = measure_time(loop, std::max(threads, 1), kRounds, clock);
    best = best ? std::min(*best, time) : time;
  }
  if (!best || *best <= Seconds{}) {
    return std::nullopt;
  }
  return FlopsPerSecond{loop.operations * static_cast<double>(kRounds) *
                        static_cast<double>(std::max(threads, 1)) / best->count()};
}

bool adds_byte_products_exactly() {
  const ProcessorFeatures features = processor_features();
  return features.amx_int8 || features.avx_vnni || __builtin_cpu_supports("avx512vnni") != 0;
}

}  // namespace plumb::engine
