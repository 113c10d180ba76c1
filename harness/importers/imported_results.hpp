// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/results/environment.hpp"
#include "harness/results/measurement.hpp"

namespace plumb::importers {

/// Result of one benchmark of another harness, from one process. It has the samples, or mean and
/// deviation if the harness keeps no samples, or the reason why there is no time.
struct ImportedBenchmark {
  /// Summary statistics of samples that were not kept.
  struct Statistics {
    std::size_t n = 0;
    Seconds mean{};
    std::optional<Seconds> deviation;  ///< absent: too few samples for one
    std::optional<Seconds> min;
    std::optional<measure::Interval> interval =
        {};  ///< as the file gives it; else from the deviation
  };
  std::string name;
  results::Outcome outcome;
  std::vector<Seconds> samples;  ///< per execution
  std::int64_t repetitions = 1;  ///< executions in each sample
  std::optional<Statistics> statistics;
};

/// The contents of a result file of another harness.
struct ImportedResults {
  results::Facts identity;                    ///< what makes two files comparable: the machine
  results::Facts facts;                       ///< everything else
  std::optional<Timestamp> started;           ///< absent: the file does not say, or `unread_date`
  std::string unread_date;                    ///< what the file gives as its date and is no time
  std::string version;                        ///< that was measured, such as a commit; may be empty
  std::size_t left_out = 0;                   ///< values that are not times
  std::vector<ImportedBenchmark> benchmarks;  ///< each name once
};

/// Results of one suite at several moments: a run for each. In order of time.
using ImportedHistory = std::vector<ImportedResults>;

/// Limits on what is read from a file. The length of a name is in bytes.
inline constexpr std::size_t kMaxImportedBenchmarks = 100'000;
inline constexpr std::size_t kMaxImportedName = 1024;
inline constexpr std::size_t kMaxImportedRuns = 10'000;     ///< of one history
inline constexpr std::size_t kMaxImportedRows = 1'000'000;  ///< of all files of a command
inline constexpr std::int64_t kLastMillisecond = 253'402'300'799'000;  ///< of the year 9999

/// Refuses what a file says. Throws Error{kUser}.
[[noreturn]] void refuse(const std::string& what);

/// Returns a time from a file. Throws Error{kUser} unless it is positive and below 10⁷ s.
[[nodiscard]] Seconds imported_time(double seconds);

/// Returns the seconds of a unit of time: "ns", "us", "ms" or "s". Absent: it is no such unit.
[[nodiscard]] std::optional<double> unit_seconds(std::string_view unit);

/// Checks a benchmark's name: 1 to kMaxImportedName bytes without control characters. Throws
/// Error{kUser}.
void check_imported_name(const std::string& name);

}  // namespace plumb::importers
