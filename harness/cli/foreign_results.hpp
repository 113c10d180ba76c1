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

/// The result of one benchmark of another harness, as one process measured it. It has the samples,
/// or the mean and deviation where the harness keeps no samples, or the reason why there is no
/// time.
struct ForeignBenchmark {
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
struct ForeignResults {
  Facts identity;                            ///< what makes two files comparable: the machine
  Facts facts;                               ///< everything else
  std::optional<Timestamp> started;          ///< absent: the file does not say
  std::vector<ForeignBenchmark> benchmarks;  ///< each name once
};

/// Bounds of what is read from a file.
inline constexpr std::size_t kForeignBenchmarksAtMost = 100'000;
inline constexpr std::size_t kForeignNameAtMost = 1024;

/// Returns a time that a file gives. Throws Error{kUser} unless it is positive and below 10⁷ s.
[[nodiscard]] Seconds foreign_time(double seconds);

/// Throws Error{kUser} for the name of a benchmark that is empty, too long or has control
/// characters.
void check_foreign_name(const std::string& name);

}  // namespace plumb
