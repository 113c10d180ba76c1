// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/matrix/matrix_cell.hpp"

#include <algorithm>
#include <vector>

#include "harness/stats/geometric_mean.hpp"

namespace plumb::analysis {

MatrixCell middle_cell(std::span<const MatrixValue* const> runs) {
  MatrixCell cell;
  std::vector<Estimate> estimates;
  for (const MatrixValue* const value : runs) {
    if (value->estimate) {
      estimates.push_back(*value->estimate);
      cell.disturbed = cell.disturbed || value->disturbed;
    } else {
      cell.missing = value->missing;
      ++cell.left_out;
    }
  }
  cell.runs = estimates.size();
  if (!estimates.empty()) {
    cell.value = middle_of(estimates);
  }
  return cell;
}

MatrixCell mean_cell(std::span<const MatrixCell> models) {
  MatrixCell cell;
  std::vector<double> values;
  for (const MatrixCell& model : models) {
    if (model.value) {
      values.push_back(model.value->value);
      cell.runs = std::max(cell.runs, model.runs);
      cell.disturbed = cell.disturbed || model.disturbed;
    } else {
      cell.missing = model.missing;
      ++cell.left_out;
    }
  }
  cell.models = values.size();
  if (const auto mean = stats::geometric_mean(values)) {
    cell.value = Estimate{mean->mean, mean->low, mean->high};
  }
  return cell;
}

MatrixCell relative_cell(MatrixCell cell, const MatrixCell& reference, const std::string& name) {
  if (cell.value && reference.value) {
    cell.value = ratio_of(*cell.value, *reference.value);
    cell.disturbed = cell.disturbed || reference.disturbed;
  } else if (cell.value) {
    cell.value.reset();
    cell.runs = 0;
    cell.missing = reference.missing;
    cell.missing.kind = MissingValue::Kind::kNoReference;
    cell.missing.word = "no reference";
    cell.missing.reason = name + " has no value: " + reference.missing.reason;
  }
  return cell;
}

}  // namespace plumb::analysis
