// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cmath>
#include <cstdint>
#include <random>

namespace plumb::loadgen {

/// Poisson schedule of Server's queries. The first arrives at 0. Gaps are exponential with mean
/// 1/rate, each cut to whole nanoseconds.
///
/// The numbers are those of MLPerf's LoadGen for the same seed and rate. The generator is MT19937,
/// seeded with the low 32 bits. Two draws give a number u, rounded to the 53 bits of a double, and
/// gap = -ln(1 - u)/rate. This is libstdc++'s exponential_distribution, written out because the
/// standard does not fix it. Nothing is stored, so a schedule of any length costs no memory.
class ArrivalSchedule {
 public:
  ArrivalSchedule(std::uint64_t seed, double rate)
      : generator_(static_cast<std::mt19937::result_type>(seed)), rate_(rate) {}

  /// Returns when the next query is due, after the start.
  std::chrono::nanoseconds next() {
    const std::chrono::nanoseconds due = next_;
    const double low = static_cast<double>(generator_());
    const double high = static_cast<double>(generator_());
    double u = (low + high * 0x1p32) * 0x1p-64;
    u = u < 1.0 ? u : std::nextafter(1.0, 0.0);
    next_ += std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::duration<double>(-std::log(1.0 - u) / rate_));
    return due;
  }

 private:
  std::mt19937 generator_;
  double rate_;
  std::chrono::nanoseconds next_{};
};

}  // namespace plumb::loadgen
