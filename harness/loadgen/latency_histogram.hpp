// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace plumb::loadgen {

/// Histogram of latencies with buckets of bounded relative width. Its memory (440 KB) does not grow
/// with the number of queries.
///
/// Below 2,048 ns each nanosecond has its bucket. Above, each octave has 1,024 buckets, so that a
/// bucket is at most 0.1% (1/1,024) of its values wide. The value at a rank is the highest of its
/// bucket: never too low, and at most 0.1% too high. Within that resolution early stopping's order
/// statistics are exact. Count, minimum and maximum are exact. The sum is exact below 104 days,
/// then to 1e-16. Not thread-safe.
class LatencyHistogram {
 public:
  using Nanoseconds = std::chrono::nanoseconds;

  LatencyHistogram();

  /// Counts a latency. A negative one counts as zero.
  void record(Nanoseconds latency) {
    const auto value = static_cast<std::uint64_t>(latency.count() < 0 ? 0 : latency.count());
    ++buckets_[find_bucket(value)];
    ++count_;
    sum_ += static_cast<double>(value);
    least_ = value < least_ ? value : least_;
    largest_ = value > largest_ ? value : largest_;
  }

  [[nodiscard]] std::uint64_t count() const { return count_; }
  /// Returns the least latency. This and all below are zero while nothing has been recorded.
  [[nodiscard]] Nanoseconds min() const;
  [[nodiscard]] Nanoseconds max() const;
  [[nodiscard]] Nanoseconds mean() const;  ///< rounded down
  /// Returns the latency of rank 0 … count - 1 in ascending order. A larger rank means the last.
  [[nodiscard]] Nanoseconds at_rank(std::uint64_t rank) const;
  /// Returns the latency of rank ⌊count · percent/100⌋, which is MLPerf's rule, without
  /// interpolation.
  [[nodiscard]] Nanoseconds percentile(double percent) const;

 private:
  static constexpr unsigned kBits = 10;  // 2^kBits buckets an octave

  [[nodiscard]] static std::size_t find_bucket(std::uint64_t value) {
    const auto width = static_cast<unsigned>(std::bit_width(value));
    const unsigned shift = width > kBits + 1 ? width - (kBits + 1) : 0;
    // The leading bit of `value >> shift` moves on with each octave: buckets follow without a gap.
    return (static_cast<std::size_t>(shift) << kBits) + static_cast<std::size_t>(value >> shift);
  }
  [[nodiscard]] static std::uint64_t compute_highest(std::size_t bucket);

  std::vector<std::uint64_t> buckets_;
  std::uint64_t count_ = 0;
  std::uint64_t least_;
  std::uint64_t largest_ = 0;
  double sum_ = 0.0;
};

}  // namespace plumb::loadgen
