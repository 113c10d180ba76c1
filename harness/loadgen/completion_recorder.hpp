// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/loadgen/completion_count.hpp"
#include "harness/loadgen/in_flight_table.hpp"
#include "harness/loadgen/latency_histogram.hpp"
#include "harness/loadgen/load_clock.hpp"
#include "harness/loadgen/system_under_test.hpp"

namespace plumb::loadgen {

/// Totals of a run's completions.
struct CompletionTally {
  std::uint64_t queries = 0;  ///< answered in full
  std::uint64_t samples = 0;
  std::uint64_t failed_samples = 0;
  std::uint64_t unknown_answers = 0;  ///< to samples that were not outstanding: invented, repeated
  std::uint64_t over_latency = 0;     ///< queries above the limit
  std::string first_failure;          ///< reason of the first failed sample
  LatencyHistogram sample_latencies;
  LatencyHistogram query_latencies;  ///< of a query's last sample; MultiStream only
  std::chrono::nanoseconds last_completion{};
  std::chrono::nanoseconds last_issued_completion{};  ///< of the query issued last so far
};

/// Recorder that matches answers with outstanding samples and counts them. One thread adds queries,
/// and any thread answers.
class CompletionRecorder final : public Completions {
 public:
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
                 std::vector<QuerySample>& samples);
  void complete(std::span<const SampleResponse> responses) override;
  void fail(std::span<const std::uint64_t> ids, std::string_view reason) override;

  /// Returns the count of completed samples, failed ones included.
  [[nodiscard]] CompletionCount& done() { return done_; }
  [[nodiscard]] std::uint64_t samples_added() const { return added_; }
  [[nodiscard]] std::uint64_t over_latency() const {
    return over_latency_.load(std::memory_order_relaxed);
  }
  /// Ends the run. Later answers are ignored.
  void close();
  /// Returns the counts. Call after close().
  [[nodiscard]] const CompletionTally& tally() const { return tally_; }

 private:
  void settle(InFlightTable::Slot& slot, std::chrono::nanoseconds now, bool failed);

  const LoadClock& clock_;
  const Options options_;
  InFlightTable in_flight_;
  std::uint64_t added_ = 0;
  CompletionCount done_;
  std::atomic<std::uint64_t> over_latency_{0};
  std::mutex mutex_;  // of all below
  bool closed_ = false;
  std::uint64_t last_sequence_ = 0;
  CompletionTally tally_;
};

}  // namespace plumb::loadgen
