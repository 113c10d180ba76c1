// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/analysis/matrix/matrix.hpp"

namespace plumb::analysis {

/// Whether a latency keeps a limit, by its interval.
enum class LimitVerdict {
  kKept,       ///< the whole interval is within the limit
  kUncertain,  ///< the limit lies inside the interval
  kMissed,     ///< the whole interval is beyond the limit
};
[[nodiscard]] std::string_view to_text(LimitVerdict verdict);  ///< "kept", …

/// Latency against throughput of one row over its batches.
struct ParetoFront {
  /// One batch of a model.
  struct Point {
    std::int64_t batch = 1;
    Estimate seconds;
    Estimate inputs_per_second;
    bool on_front = false;  ///< no other batch is both as fast and of as high a throughput
    std::optional<LimitVerdict> limit;  ///< absent: there is no limit
  };

  std::string name;
  std::vector<Point> points;  ///< by batch
  /// Batches without a value. They are on no front, and no batch is off the front for them.
  struct Absent {
    std::int64_t batch = 1;
    MissingValue missing;
  };
  std::vector<Absent> absent;
  std::optional<std::size_t> best;  ///< highest throughput among the points that keep the limit;
                                    ///< absent: none keeps it, or there is none
};

/// Computes the Pareto fronts of a matrix of times whose columns are batches: one front a row.
/// Points are compared by their values, and with the limit by their intervals. Pure.
[[nodiscard]] std::vector<ParetoFront> pareto_fronts(const Matrix& times,
                                                     std::optional<Seconds> limit);

}  // namespace plumb::analysis
