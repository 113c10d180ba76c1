// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/analysis/matrix/matrix_axis.hpp"
#include "harness/analysis/matrix/matrix_cell.hpp"
#include "harness/stats/means.hpp"

namespace plumb::analysis {

/// Results of many runs beside each other.
struct Matrix {
  /// One row: what it is of, and its cells.
  struct Row {
    std::string name;
    std::vector<MatrixCell> cells;  ///< one a column
  };

  /// Geometric mean of one column. Only means of ratios have an interval.
  struct Mean {
    std::optional<stats::GeometricMean> own;     ///< over the rows that have a value in this column
    std::optional<stats::GeometricMean> common;  ///< over the rows that have one in every column
  };

  MatrixQuery query;  ///< with the axes that were chosen
  std::vector<std::string> columns;
  std::vector<Row> rows;
  std::vector<Mean> means;                           ///< one a column; none: the rows are no models
  std::optional<std::size_t> reference;              ///< column that the others are divided by
  bool shared = false;                               ///< a cell has several runs
  std::vector<std::pair<Axis, std::string>> common;  ///< places that all results share
  /// Axes on which results differ along with the rows or columns: a stack that only one system has.
  std::vector<Axis> along;
};

/// Builds a matrix. Whatever the results differ in, beside rows and columns, becomes part of a
/// row's name, so that no cell mixes unlike results. Throws Error{kUser} if nothing is left by
/// `only`, if both axes are one, or if no column has the name of `relative_to`. Pure.
[[nodiscard]] Matrix make_matrix(std::span<const MatrixRun> runs, MatrixQuery query);

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
