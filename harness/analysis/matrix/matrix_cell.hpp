// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/analysis/matrix/matrix_axis.hpp"
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

/// Value of one model of one run, in one mode and by one kind of bound.
struct MatrixSample {
  Coordinates place;
  std::size_t run = 0;
  const ModelInstance* instance = nullptr;  ///< of the runs
  MatrixValue value;
};

/// Evaluates a query for every model of every run, without what `only` leaves out. The samples
/// refer to the runs. Throws Error{kUser} if nothing is left, naming what there is.
[[nodiscard]] std::vector<MatrixSample> collect_samples(std::span<const MatrixRun> runs,
                                                        const MatrixQuery& query);

/// Lists the places of samples on an axis: numbers by size, names in the order in which they occur.
[[nodiscard]] std::vector<std::string> list_places(std::span<const MatrixSample> samples,
                                                   Axis axis);

}  // namespace plumb::analysis
