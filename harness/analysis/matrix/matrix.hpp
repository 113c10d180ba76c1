// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/analysis/matrix/matrix_axis.hpp"
#include "harness/analysis/matrix/matrix_cell.hpp"
#include "harness/stats/geometric_mean.hpp"

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

}  // namespace plumb::analysis
