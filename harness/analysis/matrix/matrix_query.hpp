// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/analysis/matrix/matrix_axis.hpp"
#include "harness/analysis/matrix/matrix_quantity.hpp"

namespace plumb::analysis {

/// Rules for a cell that several runs fill.
enum class SharedCells {
  kMiddle,  ///< the middle of the runs, with the interval over them (middle_of())
  kNewest,  ///< the run that started last, whether it has a value or not
};

/// What a matrix is to show.
struct MatrixQuery {
  Quantity quantity = Quantity::kTime;
  std::vector<std::string> modes{"plain"};
  std::vector<results::BoundKind> bounds{results::BoundKind::kLibrary};
  std::optional<Axis> rows = {};     ///< absent: the models
  std::optional<Axis> columns = {};  ///< absent: the first axis on which results differ
  /// Each cell is the geometric mean over the models. No axis may be the models then.
  bool mean_over_models = false;
  std::map<Axis, std::vector<std::string>> only = {};  ///< places that count; no entry: all
  /// Name of the column that the others are divided by. Empty: none. kFirstColumn: the first.
  std::string relative_to = {};
  /// Name of the stack whose bounds hold for all results of its system and threads, such as those
  /// of another runtime. Empty: each run has its own bounds.
  std::string bounds_of = {};
  SharedCells shared = SharedCells::kMiddle;
};
inline constexpr const char* kFirstColumn = "@first";

}  // namespace plumb::analysis
