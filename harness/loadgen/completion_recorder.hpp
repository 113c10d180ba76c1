// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/loadgen/system_under_test.hpp"

namespace plumb::loadgen {

/// Recorder that matches answers with outstanding samples and counts them. One thread adds queries,
/// and any thread answers.
class CompletionRecorder final : public Completions {
 public:
  /// Histogram of latencies with buckets of bounded relative width. Its memory (440 KB) does not
  /// grow with the number of queries.
  ///
  /// Below 2,048 ns each nanosecond has its bucket. Above, each octave has 1,024 buckets, so that a
  /// bucket is at most 0.1% (1/1,024) of its values wide. The value at a rank is the highest of its
  /// bucket: never too low, and at most 0.1% too high. Within that resolution early stopping's
  /// order statistics are exact. Count, minimum and maximum are exact. The sum is exact below 104
  /// days, then to 1e-16. Not thread-safe.
  class Histogram {
   public:
    using Nanoseconds = std::chrono::nanoseconds;

    Histogram();

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
      // The leading bit of `value >> shift` moves on with each octave: buckets follow without a
      // gap.
      return (static_cast<std::size_t>(shift) << kBits) + static_cast<std::size_t>(value >> shift);
    }
    [[nodiscard]] static std::uint64_t compute_highest(std::size_t bucket);

    std::vector<std::uint64_t> buckets_;
    std::uint64_t count_ = 0;
    std::uint64_t least_;
    std::uint64_t largest_ = 0;
    double sum_ = 0.0;
  };

  /// Table of the outstanding samples. Its memory grows with their number, never with the run's
  /// queries.
  ///
  /// One thread adds queries. Any one thread at a time, under the owner's lock, looks up
  /// completions while queries are added. A sample's id names its slot and the number of the slot's
  /// use. A second or invented answer is therefore recognised.
  class InFlightTable {
   public:
    struct Slot {
      std::atomic<std::uint64_t> live_id{0};  ///< of the sample that waits here; 0: none
      std::chrono::nanoseconds scheduled{};
      std::uint64_t sequence = 0;   ///< number of the sample in the run
      std::uint64_t index = 0;      ///< in the data set
      std::uint32_t uses = 0;       ///< makes ids differ
      std::uint32_t query = 0;      ///< slot of the query's first sample
      std::uint32_t next = 0;       ///< slot of the query's next sample, or of the next free one
      std::uint32_t remaining = 0;  ///< first sample: samples of the query not yet answered
      bool failed = false;          ///< first sample: one of the query could not be answered
    };
    static constexpr std::uint32_t kSlotsAChunk = 1U << 12U;
    static constexpr std::uint32_t kChunks = 1U << 15U;  ///< 134 million samples outstanding

    /// Adds a query of samples `indices`, the first with number `sequence`. Fills `samples` with
    /// what to issue. Throws Error{kUser} if more are outstanding than the table holds.
    void add(std::chrono::nanoseconds scheduled,
             std::uint64_t sequence,
             std::span<const std::uint64_t> indices,
             std::vector<SystemUnderTest::Sample>& samples);
    /// Returns whether add() will need the slots that have been freed. If so, call recycle() first.
    [[nodiscard]] bool wants_freed(std::size_t samples) const { return free_count_ < samples; }
    /// Makes the freed slots usable again. Needs the lock of the threads that free.
    void recycle();

    /// Returns the slot where the sample `id` waits; nullptr if none does.
    [[nodiscard]] Slot* find(std::uint64_t id);
    [[nodiscard]] Slot& first_of_query(const Slot& slot) { return at(slot.query); }
    /// Frees the slots of an answered query.
    void free_query(Slot& first);

   private:
    static constexpr std::uint32_t kNone = 0xFFFFFFFF;

    [[nodiscard]] Slot& at(std::uint32_t slot);
    std::uint32_t take_free();

    std::vector<std::unique_ptr<Slot[]>> chunks_;  // of the adding thread
    std::array<std::atomic<Slot*>, kChunks> visible_chunks_{};
    std::uint32_t free_ = kNone;  // of the adding thread
    std::size_t free_count_ = 0;
    std::uint32_t freed_ = kNone;  // of the threads that free
    std::uint32_t freed_last_ = kNone;
    std::size_t freed_count_ = 0;
  };

  /// Totals of a run's completions.
  struct Tally {
    std::uint64_t queries = 0;  ///< answered in full
    std::uint64_t samples = 0;
    std::uint64_t failed_samples = 0;
    std::uint64_t unknown_answers =
        0;                           ///< to samples that were not outstanding: invented, repeated
    std::uint64_t over_latency = 0;  ///< queries above the limit
    std::string first_failure;       ///< reason of the first failed sample
    Histogram sample_latencies;
    Histogram query_latencies;  ///< of a query's last sample; MultiStream only
    std::chrono::nanoseconds last_completion{};
    std::chrono::nanoseconds last_issued_completion{};  ///< of the query issued last so far
  };

  struct Options {
    std::optional<std::chrono::nanoseconds> latency_limit;
    bool query_latencies = false;  ///< kept apart from the samples'
    ResponseLog* responses = nullptr;
  };

  CompletionRecorder(const LoadClock& clock, const Options& options)
      : clock_(clock), options_(options) {}

  /// Makes a query outstanding and fills `samples` with what to issue. Only the issuing thread
  /// calls it.
  void add_query(std::chrono::nanoseconds scheduled,
                 std::span<const std::uint64_t> indices,
                 std::vector<SystemUnderTest::Sample>& samples);
  void complete(std::span<const Completions::Response> responses) override;
  void fail(std::span<const std::uint64_t> ids, std::string_view reason) override;

  /// Returns the count of completed samples, failed ones included.
  [[nodiscard]] LoadClock::CompletionCount& done() { return done_; }
  [[nodiscard]] std::uint64_t samples_added() const { return added_; }
  [[nodiscard]] std::uint64_t over_latency() const {
    return over_latency_.load(std::memory_order_relaxed);
  }
  /// Ends the run. Later answers are ignored.
  void close();
  /// Returns the counts. Call after close().
  [[nodiscard]] const Tally& tally() const { return tally_; }

 private:
  void settle(InFlightTable::Slot& slot, std::chrono::nanoseconds now, bool failed);

  const LoadClock& clock_;
  const Options options_;
  InFlightTable in_flight_;
  std::uint64_t added_ = 0;
  LoadClock::CompletionCount done_;
  std::atomic<std::uint64_t> over_latency_{0};
  std::mutex mutex_;  // of all below
  bool closed_ = false;
  std::uint64_t last_sequence_ = 0;
  Tally tally_;
};

}  // namespace plumb::loadgen
