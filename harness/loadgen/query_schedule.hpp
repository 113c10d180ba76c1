// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "harness/loadgen/load_settings.hpp"

namespace plumb::loadgen {

/// Returns the samples that a load takes from, in the order of LoadGen's loadable set. These are
/// the loaded samples in performance mode, and the whole data set in accuracy mode. Their order is
/// drawn by the seed of the data set.
[[nodiscard]] std::vector<std::uint64_t> sample_set(const EffectiveLoad& load);

/// Picker of the data set's samples that make the next query. It picks what LoadGen 6.0 picks with
/// the same seeds and counts.
///
/// In performance mode samples are drawn from the loaded samples, uniformly and with replacement.
/// MultiStream draws the first and takes its successors in the set, cyclically. Offline takes the
/// set in turn. In accuracy mode every sample of the data set is taken once. Unlike LoadGen,
/// MultiStream's last query there is cut instead of filled with samples that were taken before.
class SamplePicker {
 public:
  explicit SamplePicker(const EffectiveLoad& load);

  /// Fills `indices` with the samples of the next query. Leaves it empty if none are left (accuracy
  /// mode).
  void pick(std::vector<std::uint64_t>& indices);

 private:
  void pick_once(std::vector<std::uint64_t>& indices);

  const EffectiveLoad& load_;
  std::vector<std::uint64_t> set_;
  std::vector<std::uint64_t> starts_;  // in the set, of accuracy mode's queries
  std::mt19937 random_;
  std::uniform_int_distribution<std::int64_t> draw_;
  std::uint64_t next_ = 0;  // of the set, or of the starts
};

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
