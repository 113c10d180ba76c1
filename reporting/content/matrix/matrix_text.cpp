// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/matrix/matrix_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "reporting/document/quantity_text.hpp"

namespace plumb::reporting {
namespace {

using analysis::Quantity;

bool is_ratio(const analysis::Matrix& matrix) {
  return matrix.reference || analysis::unit_of(matrix.query.quantity) == "ratio";
}

bool more_is_faster(Quantity quantity) {
  return quantity == Quantity::kThroughput || quantity == Quantity::kNormalizedBound ||
         quantity == Quantity::kSpeedup || quantity == Quantity::kPredictedSpeedup;
}

std::string relative_text(double ratio) {
  return ratio >= 0.1 && ratio < 1e4 ? ratio_text(ratio) : fmt::format("{:.3g}×", ratio);
}

/// Returns the fastest value of a row. Absent: the row has fewer than two.
std::optional<double> best_of(const analysis::MatrixRow& row, bool highest) {
  std::vector<double> values;
  for (const analysis::MatrixCell& cell : row.cells) {
    if (cell.value) {
      values.push_back(cell.value->value);
    }
  }
  if (values.size() < 2) {
    return std::nullopt;
  }
  return highest ? *std::max_element(values.begin(), values.end())
                 : *std::min_element(values.begin(), values.end());
}

/// Returns whether the cells of a row may be compared with its fastest one. Batches may not: a
/// larger one takes longer anyway. Bounds are no execution.
bool has_best(const analysis::Matrix& matrix) {
  return !is_ratio(matrix) && matrix.query.quantity != Quantity::kBound &&
         matrix.query.columns != analysis::Axis::kBatch && matrix.columns.size() > 1;
}

std::string quantity_words(const analysis::MatrixQuery& query) {
  std::string bound;
  for (const results::BoundKind kind : query.bounds) {
    bound += fmt::format("{}{}", bound.empty() ? "" : ", ", to_text(kind));
  }
  switch (query.quantity) {
    case Quantity::kTime:
      return "time end to end (median)";
    case Quantity::kP99:
      return "time end to end (99th percentile)";
    case Quantity::kThroughput:
      return "inputs a second";
    case Quantity::kBound:
      return bound;
    case Quantity::kGap:
      return "time end to end ÷ " + bound;
    case Quantity::kNormalizedBound:
      return bound + " ÷ time end to end";
    case Quantity::kSpeedup:
      return "measured speed-up against the mode plain";
    case Quantity::kPredictedSpeedup:
      return "predicted speed-up against the mode plain";
  }
  return {};
}

/// Returns whether a cell has a value that is not 1 by definition.
bool says_something(const analysis::Matrix& matrix) {
  for (const analysis::MatrixRow& row : matrix.rows) {
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      if (row.cells[i].value && matrix.reference != i) {
        return true;
      }
    }
  }
  return false;
}

std::string partly_missing(const analysis::Matrix& matrix, const analysis::MatrixCell& cell) {
  const bool of_models = matrix.query.mean_over_models;
  return fmt::format("{} of {} {} no value; the last: {}",
                     cell.left_out,
                     cell.left_out + (of_models ? cell.models : cell.runs),
                     of_models ? "models have" : "runs have",
                     cell.missing.reason);
}

}  // namespace

std::string Footnotes::mark(const std::string& note) {
  auto found = std::find(notes_.begin(), notes_.end(), note);
  if (found == notes_.end()) {
    found = notes_.insert(found, note);
  }
  return fmt::format("[{}]", found - notes_.begin() + 1);
}

std::string rate_text(double per_second) {
  return per_second < 1000.0 ? fmt::format("{:.4g}/s", per_second) : count_text(per_second) + "/s";
}

std::string value_text(const analysis::Matrix& matrix, double value) {
  if (is_ratio(matrix)) {
    return relative_text(value);
  }
  return matrix.query.quantity == Quantity::kThroughput ? rate_text(value)
                                                        : time_text(Seconds(value));
}

std::string estimate_text(const analysis::Matrix& matrix, const analysis::Estimate& value) {
  std::string text = value_text(matrix, value.value);
  if (value.low) {
    const double half = (*value.high - *value.low) / 2.0 / value.value;
    text += fmt::format(" ± {:.1f} %", half * 100.0);
  }
  return text;
}

std::string cell_text(const analysis::Matrix& matrix,
                      const analysis::MatrixCell& cell,
                      Footnotes& notes) {
  if (!cell.value) {
    return cell.missing.word + " " + notes.mark(cell.missing.reason);
  }
  std::string text = estimate_text(matrix, *cell.value);
  if (matrix.query.mean_over_models) {
    text = fmt::format("{}, n = {}",
                       geometric_mean_text(matrix,
                                           stats::GeometricMean{.mean = cell.value->value,
                                                                .low = cell.value->low,
                                                                .high = cell.value->high,
                                                                .n = cell.models}),
                       cell.models);
  }
  if (cell.disturbed) {
    text += " " + notes.mark("measured on a disturbed host");
  }
  if (cell.left_out > 0) {
    text += " " + notes.mark(partly_missing(matrix, cell));
  }
  return text;
}

std::string geometric_mean_text(const analysis::Matrix& matrix,
                                const std::optional<stats::GeometricMean>& mean) {
  if (!mean) {
    return "–";
  }
  std::string text = value_text(matrix, mean->mean);
  if (mean->low) {
    text +=
        fmt::format(" ({} to {})", value_text(matrix, *mean->low), value_text(matrix, *mean->high));
  }
  return text;
}

std::string title_of(const analysis::MatrixReport& report) {
  const analysis::Matrix& matrix = report.matrix;
  std::string title = quantity_words(matrix.query);
  if (matrix.reference) {
    title += fmt::format(", ÷ that of {}", matrix.columns[*matrix.reference]);
  }
  if (matrix.query.mean_over_models) {
    title = "geometric mean over the models of: " + title;
  }
  return title;
}

std::string rows_head(const analysis::Matrix& matrix) {
  return fmt::format("{} \\ {}", to_text(*matrix.query.rows), to_text(*matrix.query.columns));
}

std::vector<std::string> remarks_on(const analysis::MatrixReport& report) {
  const analysis::Matrix& matrix = report.matrix;
  std::vector<std::string> remarks;
  if (report.view != nullptr && !says_something(matrix)) {
    remarks.push_back(fmt::format("These runs have nothing to show in the view {}. It needs {}.",
                                  report.view->name,
                                  report.view->needs));
  }
  std::vector<std::string> common;
  for (const auto& [axis, place] : matrix.common) {
    if (!place.empty()) {
      common.push_back(axis == analysis::Axis::kBatch || axis == analysis::Axis::kThreads
                           ? describe(axis, place)
                           : fmt::format("{} {}", to_text(axis), place));
    }
  }
  if (!common.empty()) {
    remarks.push_back(fmt::format("All: {}.", fmt::join(common, ", ")));
  }
  for (const analysis::Axis axis : matrix.along) {
    remarks.push_back(
        fmt::format("The {} differs along with the {} or {}: the list of runs has it.",
                    to_text(axis),
                    to_text(*matrix.query.rows),
                    to_text(*matrix.query.columns)));
  }
  if (matrix.shared) {
    remarks.push_back(
        matrix.query.shared == analysis::SharedCells::kMiddle
            ? "Where several runs fill a cell, it is the middle of them. Its interval spans two "
              "runs, and from three on it is Student's over the runs."
            : "Where several runs fill a cell, the newest counts.");
  }
  if (!matrix.means.empty() && matrix.rows.size() > 1 && is_ratio(matrix)) {
    remarks.push_back(
        "Intervals are of 95 %. That of a geometric mean shows what another choice of rows might "
        "give.");
  } else {
    remarks.push_back("Intervals are of 95 %.");
  }
  return remarks;
}

std::vector<MeanRow> mean_rows(const analysis::Matrix& matrix) {
  MeanRow own{"geometric mean", {}};
  MeanRow common{"geometric mean of common rows", {}};
  std::size_t most = 0;
  bool differ = false;
  std::size_t shared = 0;
  for (const analysis::MatrixMean& mean : matrix.means) {
    own.means.push_back(mean.own);
    common.means.push_back(mean.common);
    most = std::max({most, mean.own ? mean.own->n : 0, mean.common ? mean.common->n : 0});
    shared = std::max(shared, mean.common ? mean.common->n : 0);
  }
  bool has_own = false;
  for (const analysis::MatrixMean& mean : matrix.means) {
    has_own = has_own || mean.own;
    differ = differ || (mean.own && mean.own->n != shared);
  }
  std::vector<MeanRow> rows;
  if (most < 2) {
    return rows;
  }
  if (has_own) {
    rows.push_back(std::move(own));
  }
  if (shared > 1 && (!has_own || differ)) {
    common.name += fmt::format(" ({} of {})", shared, matrix.rows.size());
    rows.push_back(std::move(common));
  }
  return rows;
}

std::optional<double> slowness(const analysis::Matrix& matrix,
                               const analysis::MatrixRow& row,
                               std::size_t column) {
  const analysis::MatrixCell& cell = row.cells.at(column);
  if (!cell.value) {
    return std::nullopt;
  }
  const bool inverse = more_is_faster(matrix.query.quantity);
  const double value = cell.value->value;
  if (is_ratio(matrix)) {
    return inverse ? 1.0 / value : value;
  }
  const std::optional<double> best =
      has_best(matrix) ? best_of(row, inverse) : std::optional<double>();
  if (!best) {
    return std::nullopt;
  }
  return inverse ? *best / value : value / *best;
}

std::string compared_with(const analysis::Matrix& matrix) {
  if (matrix.reference) {
    return matrix.columns[*matrix.reference];
  }
  switch (matrix.query.quantity) {
    case Quantity::kGap:
    case Quantity::kNormalizedBound:
      return "the bound";
    case Quantity::kSpeedup:
    case Quantity::kPredictedSpeedup:
      return "the mode plain";
    default:
      return has_best(matrix) ? "the fastest of the row" : "";
  }
}

std::string best_text(const analysis::ParetoFront& front, const std::optional<Seconds>& limit) {
  if (!limit) {
    return {};
  }
  if (front.best) {
    const analysis::ParetoPoint& best = front.points[*front.best];
    return fmt::format("best within {}: batch {} with {}",
                       time_text(*limit),
                       best.batch,
                       rate_text(best.inputs_per_second.value));
  }
  return fmt::format("no batch is within {} by its whole interval", time_text(*limit));
}

}  // namespace plumb::reporting
