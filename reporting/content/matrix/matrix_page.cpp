// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "reporting/content/matrix/matrix_documents.hpp"
#include "reporting/document/texts.hpp"

namespace plumb::reporting {
namespace {

using analysis::Quantity;

constexpr std::size_t kMaxCommands = 5;  // on a terminal

std::string quantity_words(const analysis::Matrix::Query& query) {
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
  for (const analysis::Matrix::Row& row : matrix.rows) {
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      if (row.cells[i].value && matrix.reference != i) {
        return true;
      }
    }
  }
  return false;
}

/// Returns what all results share, what differs along with the columns, and the rules of the cells,
/// each a sentence.
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
  if (!matrix.query.bounds_of.empty() && has_bound(matrix.query.quantity)) {
    remarks.push_back(fmt::format("Bounds are those of the stack {}.", matrix.query.bounds_of));
  }
  if (matrix.shared) {
    remarks.push_back(
        matrix.query.shared == analysis::Matrix::Query::SharedCells::kMiddle
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

/// Returns the name of a front, and what became of it under a limit: "lenet: best within 20.00 ms:
/// batch 8 with 312.0/s".
std::string front_title(const analysis::MatrixReport::Front& front,
                        const std::optional<Seconds>& limit) {
  if (!limit) {
    return front.name;
  }
  if (!front.best) {
    return fmt::format(
        "{}: no batch is within {} by its whole interval", front.name, time_text(*limit));
  }
  const analysis::MatrixReport::Front::Point& best = front.points[*front.best];
  return fmt::format("{}: best within {}: batch {} with {}",
                     front.name,
                     time_text(*limit),
                     best.batch,
                     rate_text(best.inputs_per_second.value));
}

/// Adds a front. Batches without a value have their reason in the matrix.
void add_front(const analysis::MatrixReport& report,
               const analysis::MatrixReport::Front& front,
               Page& page) {
  PageTable table{.head = head_row("#batch|#latency|#throughput|front")};
  if (report.limit) {
    table.head << "limit";
  }
  for (const analysis::MatrixReport::Front::Point& point : front.points) {
    PageRow& row = table.row() << number_cell(std::to_string(point.batch))
                               << number_cell(estimate_text(report.matrix, point.seconds))
                               << number_cell(rate_text(point.inputs_per_second.value))
                               << (point.on_front ? "yes" : "no");
    if (report.limit) {
      row << (point.limit ? to_text(*point.limit) : "–");
    }
  }
  page.heading(front_title(front, report.limit));
  page.table(table);
  page.drawing(pareto_plot(front, report.limit));
}

void add_commands(const std::vector<analysis::MatrixReport::MissingCommand>& commands, Page& page) {
  if (commands.empty()) {
    return;
  }
  page.heading("What to run");
  PageTable table{.head = head_row("#cells|command that measures them")};
  for (const analysis::MatrixReport::MissingCommand& each : commands) {
    if (page.extent() != Extent::kTerminal || table.rows.size() < kMaxCommands) {
      table.row() << number_cell(std::to_string(each.cells)) << code_cell(each.command);
    }
  }
  page.table(table);
  if (const std::size_t more = commands.size() - table.rows.size(); more > 0) {
    page.paragraph(fmt::format("and {} more: --json lists them", more));
  }
}

void add_runs(const std::vector<analysis::Matrix::Run>& runs, Page& page) {
  using analysis::Axis;
  PageTable table{.head = head_row("run|suite|runtime|stack|system|#threads|started|state")};
  const std::vector<analysis::Coordinates> places = analysis::place_runs(runs);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    table.row() << code_cell(runs[i].header.id) << runs[i].header.suite
                << at(places[i], Axis::kRuntime) << at(places[i], Axis::kStack)
                << at(places[i], Axis::kSystem) << number_cell(at(places[i], Axis::kThreads))
                << plumb::to_text(runs[i].header.started) << to_text(runs[i].state);
  }
  page.heading("Runs");
  page.table(table);
}

}  // namespace

std::string matrix_title(const analysis::MatrixReport& report) {
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

void add_matrix(const analysis::MatrixReport& report, Page& page) {
  if (report.view != nullptr) {
    page.paragraph(fmt::format("View {}: {}.", report.view->name, report.view->shows));
  }
  for (const std::string& remark : remarks_on(report)) {
    page.paragraph(remark);
  }
  const analysis::Matrix::Query& query = report.matrix.query;
  page.heading(fmt::format("By {} and {}", to_text(*query.rows), to_text(*query.columns)));
  add_cells(report.matrix, page);
  if (report.fronts) {
    for (const analysis::MatrixReport::Front& front : *report.fronts) {
      add_front(report, front, page);
    }
  }
  add_commands(report.commands, page);
  if (page.extent() != Extent::kTerminal) {
    add_runs(report.runs, page);
  }
}

namespace {

// From which factor on a cell has the next darker shade.
constexpr std::array kShades{1.05, 1.2, 1.5, 2.0};

/// Returns the mark of a note: "[3]". A text is one note, however often cells refer to it.
std::string mark_note(const std::string& note, std::vector<std::string>& notes) {
  auto found = std::find(notes.begin(), notes.end(), note);
  if (found == notes.end()) {
    found = notes.insert(found, note);
  }
  return fmt::format("[{}]", found - notes.begin() + 1);
}

/// Returns a value with its unit: "12.82 ms", "1.27×", "312.0/s".
std::string value_text(const analysis::Matrix& matrix, double value) {
  if (is_ratio(matrix)) {
    return value >= 0.1 && value < 1e4 ? ratio_text(value) : fmt::format("{:.3g}×", value);
  }
  return matrix.query.quantity == Quantity::kThroughput ? rate_text(value)
                                                        : time_text(Seconds(value));
}

/// Returns a mean with its interval: "1.21× (1.10× to 1.33×)".
std::string mean_text(const analysis::Matrix& matrix, const analysis::Estimate& mean) {
  std::string text = value_text(matrix, mean.value);
  if (mean.low) {
    text +=
        fmt::format(" ({} to {})", value_text(matrix, *mean.low), value_text(matrix, *mean.high));
  }
  return text;
}

/// Returns a cell: its value, or why there is none in a few words, and the marks of its notes.
std::string cell_text(const analysis::Matrix& matrix,
                      const analysis::Matrix::Cell& cell,
                      std::vector<std::string>& notes) {
  if (!cell.value) {
    return cell.missing.word + " " + mark_note(cell.missing.reason, notes);
  }
  const bool of_models = matrix.query.mean_over_models;
  std::string text = of_models
                         ? fmt::format("{}, n = {}", mean_text(matrix, *cell.value), cell.models)
                         : estimate_text(matrix, *cell.value);
  if (cell.disturbed) {
    text += " " + mark_note("measured on a disturbed host", notes);
  }
  if (cell.left_out > 0) {
    text += " " + mark_note(fmt::format("{} of {} {} have no value; the last: {}",
                                        cell.left_out,
                                        cell.left_out + (of_models ? cell.models : cell.runs),
                                        of_models ? "models" : "runs",
                                        cell.missing.reason),
                            notes);
  }
  return text;
}

/// Returns whether the cells of a row may be compared with its fastest one. Batches may not: a
/// larger one takes longer anyway. Bounds are no execution.
bool has_fastest(const analysis::Matrix& matrix) {
  return !is_ratio(matrix) && matrix.query.quantity != Quantity::kBound &&
         matrix.query.columns != analysis::Axis::kBatch && matrix.columns.size() > 1;
}

bool more_is_faster(Quantity quantity) {
  return quantity == Quantity::kThroughput || quantity == Quantity::kNormalizedBound ||
         quantity == Quantity::kSpeedup || quantity == Quantity::kPredictedSpeedup;
}

/// Returns the value that the cells of a row are compared with: 1 of ratios, or that of the
/// fastest cell. Absent: none, or it is the only cell.
std::optional<double> compared_value(const analysis::Matrix& matrix,
                                     const analysis::Matrix::Row& row) {
  if (is_ratio(matrix)) {
    return 1.0;
  }
  std::vector<double> values;
  for (const analysis::Matrix::Cell& cell : row.cells) {
    if (cell.value) {
      values.push_back(cell.value->value);
    }
  }
  if (values.size() < 2 || !has_fastest(matrix)) {
    return std::nullopt;
  }
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return more_is_faster(matrix.query.quantity) ? *most : *least;
}

/// Returns what compared_value() is, in words. Empty: nothing.
std::string compared_words(const analysis::Matrix& matrix) {
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
      return has_fastest(matrix) ? "the fastest of the row" : "";
  }
}

/// Returns the class of a cell's shade: "shade slow3" from 1.5 times as slow on, "shade fast1" for
/// at most 1 ÷ 1.05. Empty: within 5 %.
std::string shade_of(double slowness) {
  const double factor = slowness >= 1.0 ? slowness : 1.0 / slowness;
  const auto shade =
      std::count_if(kShades.begin(), kShades.end(), [&](double limit) { return factor >= limit; });
  return shade == 0 ? "" : fmt::format("shade {}{}", slowness >= 1.0 ? "slow" : "fast", shade);
}

void add_legend(const analysis::Matrix& matrix, Page& page) {
  const std::string other = compared_words(matrix);
  if (other.empty()) {
    return;
  }
  PageRow legend;
  const auto add = [&](const std::string& text, double slowness) {
    legend << text;
    legend.back().style = shade_of(slowness);
  };
  for (auto limit = kShades.rbegin(); limit != kShades.rend(); ++limit) {
    add(fmt::format("{}× as fast", *limit), 1.0 / *limit);
  }
  add("within 5 %", 1.0);
  for (const double limit : kShades) {
    add(fmt::format("{}× as slow", limit), limit);
  }
  page.paragraph(
      fmt::format("Shades compare with {}: blue is faster, orange slower. Each begins at:", other));
  page.table({}, {legend});
}

/// Adds the rows of means that say something: of each column's own rows, and of the rows that all
/// columns have, where these are others.
void add_means(const analysis::Matrix& matrix, PageTable& table) {
  std::size_t own = 0;     // rows of the column that has most
  std::size_t common = 0;  // rows that all columns have
  for (const analysis::Matrix::Mean& mean : matrix.means) {
    own = std::max(own, mean.own ? mean.own->n : 0);
    common = std::max(common, mean.common ? mean.common->n : 0);
  }
  const auto add = [&](const std::string& name, auto mean) {
    PageRow& row = table.row() << name;
    row.front().style = "word";
    for (const analysis::Matrix::Mean& each : matrix.means) {
      const std::optional<stats::GeometricMean>& of = each.*mean;
      row << number_cell(of ? mean_text(matrix, {of->mean, of->low, of->high}) : "–");
    }
  };
  if (own > 1) {
    add("geometric mean", &analysis::Matrix::Mean::own);
  }
  const bool differ = std::any_of(matrix.means.begin(), matrix.means.end(), [&](const auto& mean) {
    return mean.own && mean.own->n != common;
  });
  if (common > 1 && (own == 0 || differ)) {
    add(fmt::format("geometric mean of common rows ({} of {})", common, matrix.rows.size()),
        &analysis::Matrix::Mean::common);
  }
}

}  // namespace

bool is_ratio(const analysis::Matrix& matrix) {
  return matrix.reference || analysis::unit_of(matrix.query.quantity) == "ratio";
}

std::string rate_text(double per_second) {
  return per_second < 1000.0 ? fmt::format("{:.4g}/s", per_second) : count_text(per_second) + "/s";
}

std::string estimate_text(const analysis::Matrix& matrix, const analysis::Estimate& value) {
  std::string text = value_text(matrix, value.value);
  if (value.low) {
    const double half = (*value.high - *value.low) / 2.0 / value.value;
    text += fmt::format(" ± {:.1f} %", half * 100.0);
  }
  return text;
}

void add_cells(const analysis::Matrix& matrix, Page& page) {
  PageTable table{.head = {text_cell(std::string(to_text(*matrix.query.rows)))}, .in_order = true};
  for (const std::string& column : matrix.columns) {
    table.head << number_cell(column);
  }
  std::vector<std::string> notes;
  for (const analysis::Matrix::Row& row : matrix.rows) {
    PageRow& cells = table.row() << row.name;
    const std::optional<double> compared = compared_value(matrix, row);
    for (const analysis::Matrix::Cell& cell : row.cells) {
      cells << number_cell(cell_text(matrix, cell, notes));
      if (!cell.value) {
        cells.back().style = "absent";
      } else if (compared) {
        const double slowness = cell.value->value / *compared;
        cells.back().style =
            shade_of(more_is_faster(matrix.query.quantity) ? 1.0 / slowness : slowness);
      }
    }
  }
  add_means(matrix, table);
  page.table(table);
  for (std::size_t i = 0; i < notes.size(); ++i) {
    notes[i] = fmt::format("[{}] {}", i + 1, notes[i]);
  }
  if (!notes.empty()) {
    page.list(notes);
  }
  if (page.extent() == Extent::kPage) {
    add_legend(matrix, page);
  }
}

}  // namespace plumb::reporting
