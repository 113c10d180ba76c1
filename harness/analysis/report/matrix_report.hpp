// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "harness/analysis/matrix/matrix.hpp"
#include "harness/analysis/matrix/matrix_axis.hpp"

namespace plumb::analysis {

/// Contents of a report on a matrix.
struct MatrixReport {
  /// Command that measures what some cells of a matrix lack.
  struct MissingCommand {
    std::string command;
    std::size_t cells = 0;
  };

  Matrix matrix;
  std::vector<MatrixRun> runs;
  const MatrixView* view = nullptr;  ///< of the table of views; null: none
  std::optional<std::vector<ParetoFront>> fronts;
  std::optional<Seconds> limit;          ///< of the latency of the fronts
  std::vector<MissingCommand> commands;  ///< the one for most cells first
};

}  // namespace plumb::analysis
