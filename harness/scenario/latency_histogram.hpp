// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace plumb {

/// Counts latencies in buckets of bounded relative width, so that memory (440 KB) does not grow
/// with the number of queries.
///
/// Below 2,048 ns each nanosecond has its bucket; above, each octave has 1,024: a bucket is at most
/// 0.1% (1/1,024) of its values wide. What is read back at a rank is the highest value of the
/// bucket, so it is never too low and at most 0.1% too high: early stopping's order statistics are
/// the exact ones within that resolution. Count, minimum, maximum and sum are exact (the sum while
/// it is below 104 days, then to 1e-16). Not thread-safe.
class LatencyHistogram {
 public:
  using Nanoseconds = std::chrono::nanoseconds;

  LatencyHistogram();

  /// Counts a latency; a negative one counts as zero.
  void record(Nanoseconds latency) {
    const auto value = static_cast<std::uint64_t>(latency.count() < 0 ? 0 : latency.count());
    ++buckets_[bucket_of(value)];
    ++count_;
    sum_ += static_cast<double>(value);
    least_ = value < least_ ? value : least_;
    largest_ = value > largest_ ? value : largest_;
  }

  [[nodiscard]] std::uint64_t count() const { return count_; }
  /// All of these are zero while nothing has been recorded.
  [[nodiscard]] Nanoseconds min() const;
  [[nodiscard]] Nanoseconds max() const;
  [[nodiscard]] Nanoseconds mean() const;  ///< rounded down
  /// Returns the latency of rank 0 … count - 1 in ascending order; a larger rank means the last.
  [[nodiscard]] Nanoseconds at_rank(std::uint64_t rank) const;
  /// Returns the latency of rank ⌊count · percent/100⌋: MLPerf's rule, without interpolation.
  [[nodiscard]] Nanoseconds percentile(double percent) const;

 private:
  static constexpr unsigned kBits = 10;  // 2^kBits buckets an octave

  [[nodiscard]] static std::size_t bucket_of(std::uint64_t value) {
    const auto width = static_cast<unsigned>(std::bit_width(value));
    const unsigned shift = width > kBits + 1 ? width - (kBits + 1) : 0;
    // The leading bit of `value >> shift` moves on with each octave: buckets follow without a gap.
    return (static_cast<std::size_t>(shift) << kBits) + static_cast<std::size_t>(value >> shift);
  }
  [[nodiscard]] static std::uint64_t highest_of(std::size_t bucket);

  std::vector<std::uint64_t> buckets_;
  std::uint64_t count_ = 0;
  std::uint64_t least_;
  std::uint64_t largest_ = 0;
  double sum_ = 0.0;
};

}  // namespace plumb
