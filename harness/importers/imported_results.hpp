// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/results/environment.hpp"
#include "harness/results/measurement.hpp"

namespace plumb {

/// Result of one benchmark of another harness, from one process. It has the samples, or mean and
/// deviation if the harness keeps no samples, or the reason why there is no time.
struct ImportedBenchmark {
  /// Summary statistics of samples that were not kept.
  struct Statistics {
    std::size_t n = 0;
    Seconds mean{};
    std::optional<Seconds> deviation;  ///< absent: too few samples for one
    std::optional<Seconds> min;
  };
  std::string name;
  Outcome outcome;
  std::vector<Seconds> samples;  ///< per execution
  std::int64_t repetitions = 1;  ///< executions in each sample
  std::optional<Statistics> statistics;
};

/// The contents of a result file of another harness.
struct ImportedResults {
  Facts identity;                             ///< what makes two files comparable: the machine
  Facts facts;                                ///< everything else
  std::optional<Timestamp> started;           ///< absent: the file does not say
  std::vector<ImportedBenchmark> benchmarks;  ///< each name once
};

/// Limits on what is read from a file. The length of a name is in bytes.
inline constexpr std::size_t kMaxImportedBenchmarks = 100'000;
inline constexpr std::size_t kMaxImportedName = 1024;

/// Returns a time from a file. Throws Error{kUser} unless it is positive and below 10⁷ s.
[[nodiscard]] Seconds imported_time(double seconds);

/// Checks a benchmark's name: 1 to kMaxImportedName bytes without control characters. Throws
/// Error{kUser}.
void check_imported_name(const std::string& name);

}  // namespace plumb
