// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/matrix/matrix_page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "reporting/document/quantity_text.hpp"

namespace plumb::reporting {
namespace {

using analysis::Quantity;

constexpr std::size_t kMaxCommands = 5;  // on a terminal

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
        matrix.query.shared == analysis::MatrixQuery::SharedCells::kMiddle
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
std::string front_title(const analysis::ParetoFront& front, const std::optional<Seconds>& limit) {
  if (!limit) {
    return front.name;
  }
  if (!front.best) {
    return fmt::format(
        "{}: no batch is within {} by its whole interval", front.name, time_text(*limit));
  }
  const analysis::ParetoFront::Point& best = front.points[*front.best];
  return fmt::format("{}: best within {}: batch {} with {}",
                     front.name,
                     time_text(*limit),
                     best.batch,
                     rate_text(best.inputs_per_second.value));
}

/// Adds a front. Batches without a value have their reason in the matrix.
void add_front(const analysis::MatrixReport& report,
               const analysis::ParetoFront& front,
               Page& page) {
  PageTable table{.head = head_row("#batch|#latency|#throughput|front")};
  if (report.limit) {
    table.head << "limit";
  }
  for (const analysis::ParetoFront::Point& point : front.points) {
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

void add_runs(const std::vector<analysis::MatrixRun>& runs, Page& page) {
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
  const analysis::MatrixQuery& query = report.matrix.query;
  page.heading(fmt::format("By {} and {}", to_text(*query.rows), to_text(*query.columns)));
  add_cells(report.matrix, page);
  if (report.fronts) {
    for (const analysis::ParetoFront& front : *report.fronts) {
      add_front(report, front, page);
    }
  }
  add_commands(report.commands, page);
  if (page.extent() != Extent::kTerminal) {
    add_runs(report.runs, page);
  }
}

}  // namespace plumb::reporting
