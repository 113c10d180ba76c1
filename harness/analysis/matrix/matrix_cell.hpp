// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "harness/analysis/matrix/matrix_quantity.hpp"

namespace plumb::analysis {

/// One cell. It has a value or a reason, never zero for one that is missing.
struct MatrixCell {
  std::optional<Estimate> value;
  MissingValue missing;    ///< without a value: why
  std::size_t runs = 0;    ///< behind the value
  std::size_t models = 0;  ///< behind a mean over models
  /// Runs, or of a mean over models the models, that have no value. `missing` says why of the last.
  std::size_t left_out = 0;
  bool disturbed = false;
};

/// Makes a cell of what each run found for it, oldest first: the middle of the values. Pure.
[[nodiscard]] MatrixCell middle_cell(std::span<const MatrixValue* const> runs);

/// Makes the geometric mean over cells of several models. Pure.
[[nodiscard]] MatrixCell mean_cell(std::span<const MatrixCell> models);

/// Divides a cell by that of a reference, which has this name. Pure.
[[nodiscard]] MatrixCell relative_cell(MatrixCell cell,
                                       const MatrixCell& reference,
                                       const std::string& name);

}  // namespace plumb::analysis
