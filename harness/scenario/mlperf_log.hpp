// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>

#include "harness/scenario/load_result.hpp"
#include "harness/scenario/load_settings.hpp"
#include "harness/scenario/system_under_test.hpp"

namespace plumb {

// The files of a run in the forms of MLPerf Inference's LoadGen (6.0), for tools that read those.
// Each says that the result is unverified: this is not LoadGen, and MLCommons has reviewed nothing.
inline constexpr std::string_view kMlperfSummaryFile = "mlperf_log_summary.txt";
inline constexpr std::string_view kMlperfDetailFile = "mlperf_log_detail.txt";
inline constexpr std::string_view kMlperfAccuracyFile = "mlperf_log_accuracy.json";

/// Facts that the logs state beside the result.
struct MlperfLogFacts {
  std::string program;   ///< "Plumbline 0.1.0"
  std::string started;   ///< RFC 3339, UTC
  std::string data_set;  ///< its name
  std::int64_t process_id = 0;
  RequestedLoad requested;
};

/// Writes mlperf_log_summary.txt: LoadGen's labels, our reasons as recommendations, and in place of
/// LoadGen's errors what was dropped, failed or miscounted.
void write_mlperf_summary(std::ostream& out, const LoadResult& result);

/// Writes mlperf_log_detail.txt: one line ":::MLLOG {JSON}" a value, keys in LoadGen's order.
/// Strings are escaped (LoadGen's are not). What this load generator has not (pre-generated
/// queries, contention counters, source hashes) is left out. `effective_qsl_rng_seed` is 0: the
/// data set is not shuffled.
void write_mlperf_detail(std::ostream& out, const LoadResult& result, const MlperfLogFacts& facts);

/// Writes mlperf_log_accuracy.json as responses come: [{seq_id, qsl_idx, data: upper-case hex}]. An
/// empty array in performance mode.
class MlperfAccuracyLog final : public ResponseLog {
 public:
  /// Begins the array; `out` outlives the log.
  explicit MlperfAccuracyLog(std::ostream& out);
  void record(std::uint64_t sequence,
              std::uint64_t index,
              std::span<const std::byte> data) override;
  /// Ends the array; nothing may follow.
  void finish();

 private:
  std::ostream& out_;
  bool any_ = false;
};

}  // namespace plumb
