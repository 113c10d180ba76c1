// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "harness/analysis/matrix/matrix_axis.hpp"

namespace plumb::analysis {

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
