// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <random>
#include <vector>

#include "harness/loadgen/load_result.hpp"
#include "harness/loadgen/load_settings.hpp"
#include "harness/loadgen/system_under_test.hpp"

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

/// Loads a system by a scenario of MLPerf Inference, and judges the result.
///
/// Queries are issued from the calling thread. Issuing ends when both the minimum duration and the
/// minimum number of queries are reached, or at the maximum duration. The run then ends when every
/// sample is answered, or when none has been for the stall limit. Memory does not grow with the
/// number of queries.
///
/// Latencies start at different moments:
/// - single_stream and multi_stream: when the query is issued
/// - server: when the query was due, so that a late issue counts against the system; in accuracy
///   mode every query is due at the start
/// - offline: with the run
///
/// With a fixed duration, offline issues its samples in queries of samples_per_query, two of them
/// outstanding.
///
/// A warm-up is the same load before the run, and its result is discarded. If samples are dropped
/// there, the run ends with it. `responses` receives every response in accuracy mode, and may be
/// nullptr. Throws Error{kUser} for server without a target rate, and what the system throws.
[[nodiscard]] LoadResult run_load(const EffectiveLoad& load,
                                  SystemUnderTest& system,
                                  LoadClock& clock,
                                  ResponseLog* responses = nullptr);

}  // namespace plumb::loadgen
