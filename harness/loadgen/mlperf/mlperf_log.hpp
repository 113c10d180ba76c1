// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/timestamp.hpp"
#include "harness/loadgen/load_result.hpp"
#include "harness/loadgen/load_settings.hpp"
#include "harness/loadgen/system_under_test.hpp"

namespace plumb::loadgen {

/// Statement of both logs about their origin.
inline constexpr std::string_view kMlperfUnverified =
    "Unverified: not reviewed by MLCommons, and not made by its LoadGen. Result not verified by "
    "MLCommons Association.";

[[nodiscard]] std::string_view mlperf_name(
    RequestedLoad::Scenario scenario);                                 ///< "SingleStream", …
[[nodiscard]] std::string_view mlperf_name(RequestedLoad::Mode mode);  ///< "PerformanceOnly", …

/// Returns the result of early stopping, in LoadGen's lines. Empty where it does not apply.
[[nodiscard]] std::vector<std::string> early_stopping_lines(const LoadResult& result);

/// Returns whether a result has no shortfall of this kind.
[[nodiscard]] bool is_met(const LoadResult& result, LoadResult::Shortfall::Kind kind);
/// Returns the shortfalls that LoadGen would log as errors, or stop at: samples dropped, failed or
/// miscounted.
[[nodiscard]] std::vector<std::string> error_texts(const LoadResult& result);
/// Returns the other shortfalls, which are the reasons why a result without errors is invalid.
[[nodiscard]] std::vector<std::string> reason_texts(const LoadResult& result);

// Files of a run in the forms of MLPerf Inference's LoadGen (6.0), for tools that read those. Each
// says that the result is unverified: this is not LoadGen, and MLCommons has reviewed nothing.
inline constexpr std::string_view kMlperfSummaryFile = "mlperf_log_summary.txt";
inline constexpr std::string_view kMlperfDetailFile = "mlperf_log_detail.txt";
inline constexpr std::string_view kMlperfAccuracyFile = "mlperf_log_accuracy.json";

/// Facts that the logs state besides the result.
struct MlperfLogFacts {
  std::string program;   ///< "Plumbline 0.1.0"
  std::string commit;    ///< of the program
  Timestamp started{};   ///< when the worker took the request: the log's start
  std::string data_set;  ///< its name
  std::int64_t process_id = 0;
  RequestedLoad requested;
};

/// Writes mlperf_log_summary.txt with LoadGen's labels. The reasons for an invalid result stand as
/// recommendations. In place of LoadGen's errors stand samples that were dropped, failed or
/// miscounted.
void write_mlperf_summary(std::ostream& out, const LoadResult& result);

/// Writes mlperf_log_detail.txt: one line ":::MLLOG {JSON}" for each value, with every key of
/// LoadGen's, in its order. Strings are escaped, which LoadGen's are not. Values that this load
/// generator does not have are null: dates and hashes of LoadGen's sources, expected latencies.
/// Lines have the time of the run's start or end, counted from `facts.started`.
void write_mlperf_detail(std::ostream& out, const LoadResult& result, const MlperfLogFacts& facts);

/// Log of mlperf_log_accuracy.json, written as responses come. Elements are {seq_id, qsl_idx, data:
/// upper-case hex}. In performance mode the array is empty.
class MlperfAccuracyLog final : public ResponseLog {
 public:
  /// Begins the array. `out` must outlive the log.
  explicit MlperfAccuracyLog(std::ostream& out);
  void record(std::uint64_t sequence,
              std::uint64_t index,
              std::span<const std::byte> data) override;
  /// Ends the array. No response may follow.
  void finish();

 private:
  std::ostream& out_;
  bool any_ = false;
};

}  // namespace plumb::loadgen
