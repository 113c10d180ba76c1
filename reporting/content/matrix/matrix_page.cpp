// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/matrix/matrix_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <ostream>
#include <string>
#include <type_traits>
#include <vector>

#include "harness/analysis/matrix/pareto_front.hpp"
#include "reporting/content/matrix/matrix_text.hpp"
#include "reporting/document/aligned_table.hpp"
#include "reporting/document/quantity_text.hpp"
#include "reporting/document/sanitized_text.hpp"
#include "reporting/formats/html_page.hpp"
#include "reporting/formats/markdown_page.hpp"

namespace plumb::reporting {
namespace {

constexpr double kPictureWidth = 560.0;
constexpr double kPictureHeight = 260.0;
constexpr double kMargin = 30.0;
constexpr double kMinExtent = 0.05;  // ln: a single value still has an axis

/// Logarithmic axis from one end of the picture to the other.
class LogAxis {
 public:
  LogAxis(double from, double to) : from_(from), to_(to) {}
  void hold(double value) {
    low_ = std::min(low_, std::log(value));
    high_ = std::max(high_, std::log(value));
  }
  [[nodiscard]] double place(double value) const {
    const double extent = std::max(high_ - low_, kMinExtent);
    return from_ + (to_ - from_) * (std::log(value) - low_) / extent;
  }
  [[nodiscard]] double low() const { return std::exp(low_); }
  [[nodiscard]] double high() const { return std::exp(high_); }

 private:
  double from_;
  double to_;
  double low_ = HUGE_VAL;
  double high_ = -HUGE_VAL;
};

/// Draws the front as steps: each of its points by latency, then right and up to the next.
std::string steps(const analysis::ParetoFront& front, const LogAxis& x, const LogAxis& y) {
  std::vector<const analysis::ParetoPoint*> points;
  for (const analysis::ParetoPoint& point : front.points) {
    if (point.on_front) {
      points.push_back(&point);
    }
  }
  std::sort(points.begin(), points.end(), [](const auto* one, const auto* other) {
    return one->seconds.value < other->seconds.value;
  });
  std::string path;
  for (const analysis::ParetoPoint* const point : points) {
    const double right = x.place(point->seconds.value);
    const double up = y.place(point->inputs_per_second.value);
    path += path.empty() ? fmt::format("M{:.1f} {:.1f}", right, up)
                         : fmt::format("H{:.1f}V{:.1f}", right, up);
  }
  return fmt::format("<path d=\"{}\"/>", path);
}

std::string label(double x, double y, const char* anchor, const std::string& text) {
  return fmt::format(
      "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>", x, y, anchor, text);
}

/// Draws throughput over latency, both logarithmic. Batches on the front are filled and joined by
/// steps. A dashed line is the limit. Empty: there are fewer than two points.
std::string pareto_plot(const analysis::ParetoFront& front, const std::optional<Seconds>& limit) {
  if (front.points.size() < 2) {
    return {};
  }
  LogAxis x(kMargin, kPictureWidth - kMargin);
  LogAxis y(kPictureHeight - kMargin, kMargin);
  for (const analysis::ParetoPoint& point : front.points) {
    x.hold(point.seconds.value);
    y.hold(point.inputs_per_second.value);
  }
  if (limit) {
    x.hold(limit->count());
  }
  std::string svg = fmt::format("<svg class=\"pareto\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\">",
                                kPictureWidth,
                                kPictureHeight);
  svg += fmt::format("<title>throughput over latency, a point for each batch</title>");
  svg += steps(front, x, y);
  if (limit) {
    const double at = x.place(limit->count());
    svg += fmt::format("<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.0f}\" y2=\"{2:.0f}\"/>",
                       at,
                       kMargin / 2.0,
                       kPictureHeight - kMargin);
  }
  for (const analysis::ParetoPoint& point : front.points) {
    const double right = x.place(point.seconds.value);
    const double up = y.place(point.inputs_per_second.value);
    svg += fmt::format("<circle{} cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\"/>",
                       point.on_front ? " class=\"front\"" : "",
                       right,
                       up);
    svg += label(right, up - 8.0, "middle", fmt::format("{}", point.batch));
  }
  const double bottom = kPictureHeight - 8.0;
  svg += label(kMargin, bottom, "start", time_text(Seconds(x.low())));
  svg += label(kPictureWidth - kMargin, bottom, "end", time_text(Seconds(x.high())));
  svg += label(4.0, kPictureHeight - kMargin - 6.0, "start", rate_text(y.low()));
  svg += label(4.0, kMargin - 14.0, "start", rate_text(y.high()));
  return svg + "</svg>";
}

constexpr std::size_t kMaxCommands = 5;

// From which factor on a cell has the next darker shade.
constexpr std::array kShades{1.05, 1.2, 1.5, 2.0};

/// Returns the class of a cell's shade: "shade slow3" from 1.5 times as slow on, "shade fast1" for
/// at most 1 ÷ 1.05. Empty: within 5 %.
std::string shade_of(double slowness) {
  const double factor = slowness >= 1.0 ? slowness : 1.0 / slowness;
  std::size_t shade = 0;
  for (const double limit : kShades) {
    shade += factor >= limit ? 1U : 0U;
  }
  return shade == 0 ? "" : fmt::format("shade {}{}", slowness >= 1.0 ? "slow" : "fast", shade);
}

PageRow head_row(const analysis::Matrix& matrix) {
  PageRow head{text_cell(rows_head(matrix))};
  for (const std::string& column : matrix.columns) {
    head.push_back(number_cell(column));
  }
  return head;
}

void add_legend(const analysis::Matrix& matrix, Page& page) {
  const std::string other = compared_with(matrix);
  if (other.empty()) {
    return;
  }
  PageRow legend;
  const auto add = [&](const std::string& text, double slowness) {
    PageCell cell = text_cell(text);
    cell.style = shade_of(slowness);
    legend.push_back(std::move(cell));
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

void add_matrix(const analysis::Matrix& matrix, Footnotes& notes, Page& page) {
  std::vector<PageRow> rows;
  for (const analysis::MatrixRow& row : matrix.rows) {
    PageRow cells{text_cell(row.name)};
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      PageCell cell = number_cell(cell_text(matrix, row.cells[i], notes));
      const std::optional<double> factor = slowness(matrix, row, i);
      cell.style = !row.cells[i].value ? "absent" : factor ? shade_of(*factor) : "";
      cells.push_back(std::move(cell));
    }
    rows.push_back(std::move(cells));
  }
  for (const MeanRow& row : mean_rows(matrix)) {
    PageRow cells{text_cell(row.name)};
    cells.front().style = "word";
    for (const auto& mean : row.means) {
      cells.push_back(number_cell(geometric_mean_text(matrix, mean)));
    }
    rows.push_back(std::move(cells));
  }
  page.table(head_row(matrix), rows);
}

std::string limit_text(const analysis::ParetoPoint& point) {
  return point.limit ? std::string(to_text(*point.limit)) : "";
}

void add_front(const analysis::MatrixReport& report,
               const analysis::ParetoFront& front,
               Footnotes& notes,
               Page& page) {
  page.subheading(front.name);
  if (const std::string best = best_text(front, report.limit); !best.empty()) {
    page.paragraph(best);
  }
  PageRow head{
      number_cell("batch"), number_cell("latency"), number_cell("throughput"), text_cell("front")};
  if (report.limit) {
    head.push_back(text_cell("limit"));
  }
  std::vector<PageRow> rows;
  for (const analysis::ParetoPoint& point : front.points) {
    rows.push_back({number_cell(std::to_string(point.batch)),
                    number_cell(estimate_text(report.matrix, point.seconds)),
                    number_cell(rate_text(point.inputs_per_second.value)),
                    text_cell(point.on_front ? "yes" : "no")});
    if (report.limit) {
      rows.back().push_back(text_cell(limit_text(point)));
    }
  }
  for (const auto& each : front.absent) {
    rows.push_back({number_cell(std::to_string(each.batch)),
                    number_cell(each.missing.word + " " + notes.mark(each.missing.reason)),
                    number_cell("–"),
                    text_cell("–")});
    if (report.limit) {
      rows.back().push_back(text_cell("–"));
    }
  }
  page.table(head, rows);
}

PageRow run_row(const analysis::MatrixRun& run, const analysis::Coordinates& place) {
  using analysis::Axis;
  return {code_cell(run.header.id),
          text_cell(run.header.suite),
          text_cell(at(place, Axis::kRuntime)),
          text_cell(at(place, Axis::kStack)),
          text_cell(at(place, Axis::kSystem)),
          number_cell(at(place, Axis::kThreads)),
          text_cell(plumb::to_text(run.header.started)),
          text_cell(std::string(to_text(run.state)))};
}

void add_runs(const analysis::MatrixReport& report, Page& page) {
  std::vector<PageRow> rows;
  const std::vector<analysis::Coordinates> places = analysis::place_runs(report.runs);
  for (std::size_t i = 0; i < report.runs.size(); ++i) {
    rows.push_back(run_row(report.runs[i], places[i]));
  }
  page.heading("Runs");
  page.table({text_cell("run"),
              text_cell("suite"),
              text_cell("runtime"),
              text_cell("stack"),
              text_cell("system"),
              number_cell("threads"),
              text_cell("started"),
              text_cell("state")},
             rows);
}

void add_notes(const analysis::MatrixReport& report, const Footnotes& notes, Page& page) {
  if (!notes.notes().empty()) {
    page.heading("Notes");
    std::vector<PageRow> rows;
    for (std::size_t i = 0; i < notes.notes().size(); ++i) {
      rows.push_back({text_cell(fmt::format("[{}]", i + 1)), text_cell(notes.notes()[i])});
    }
    page.table({text_cell("note"), text_cell("why")}, rows);
  }
  if (!report.commands.empty()) {
    page.heading("What to run");
    std::vector<PageRow> rows;
    for (const analysis::MissingCommand& each : report.commands) {
      rows.push_back({number_cell(std::to_string(each.cells)), code_cell(each.command)});
    }
    page.table({number_cell("cells"), text_cell("command that measures them")}, rows);
  }
}

/// Whether a kind of page shows colours and pictures.
template <typename Built>
constexpr bool kDraws = std::is_same_v<Built, HtmlPage>;

template <typename Built>
void write_page(const analysis::MatrixReport& report, std::ostream& out) {
  Built page(title_of(report));
  if (report.view != nullptr) {
    page.paragraph(fmt::format("View {}: {}.", report.view->name, report.view->shows));
  }
  for (const std::string& remark : remarks_on(report)) {
    page.paragraph(remark);
  }
  Footnotes notes;
  add_matrix(report.matrix, notes, page);
  if constexpr (kDraws<Built>) {
    add_legend(report.matrix, page);
  }
  if (report.fronts) {
    page.heading("Latency against throughput");
    for (const analysis::ParetoFront& front : *report.fronts) {
      add_front(report, front, notes, page);
      if constexpr (kDraws<Built>) {
        page.drawing(pareto_plot(front, report.limit));
      }
    }
  }
  add_notes(report, notes, page);
  add_runs(report, page);
  page.write(out);
}

void write_text_table(const analysis::Matrix& matrix, Footnotes& notes, std::ostream& out) {
  std::vector<AlignedTable::Column> columns{{"  " + rows_head(matrix), false}};
  for (const std::string& column : matrix.columns) {
    columns.push_back({sanitize_utf8(column), true});
  }
  AlignedTable table(columns);
  for (const analysis::MatrixRow& row : matrix.rows) {
    std::vector<std::string> cells{"  " + row.name};
    for (const analysis::MatrixCell& cell : row.cells) {
      cells.push_back(cell_text(matrix, cell, notes));
    }
    table.add(std::move(cells));
  }
  for (const MeanRow& row : mean_rows(matrix)) {
    std::vector<std::string> cells{"  " + row.name};
    for (const auto& mean : row.means) {
      cells.push_back(geometric_mean_text(matrix, mean));
    }
    table.add(std::move(cells));
  }
  table.write(out);
}

void write_text_fronts(const analysis::MatrixReport& report, std::ostream& out) {
  for (const analysis::ParetoFront& front : *report.fronts) {
    const std::string best = best_text(front, report.limit);
    out << fmt::format("\n{}{}{}\n", sanitize_utf8(front.name), best.empty() ? "" : ": ", best);
    std::vector<AlignedTable::Column> columns{
        {"  batch", true}, {"latency", true}, {"throughput", true}, {"front"}};
    if (report.limit) {
      columns.push_back({"limit"});
    }
    AlignedTable table(columns);
    for (const analysis::ParetoPoint& point : front.points) {
      std::vector<std::string> cells{fmt::format("{}", point.batch),
                                     estimate_text(report.matrix, point.seconds),
                                     rate_text(point.inputs_per_second.value),
                                     point.on_front ? "yes" : "no"};
      if (report.limit) {
        cells.push_back(limit_text(point));
      }
      table.add(std::move(cells));
    }
    table.write(out);
  }
}

}  // namespace

void write_matrix_html(const analysis::MatrixReport& report, std::ostream& out) {
  write_page<HtmlPage>(report, out);
}

void write_matrix_markdown(const analysis::MatrixReport& report, std::ostream& out) {
  write_page<MarkdownPage>(report, out);
}

void write_matrix_text(const analysis::MatrixReport& report, std::ostream& out) {
  out << sanitize_utf8(title_of(report)) << '\n';
  for (const std::string& remark : remarks_on(report)) {
    out << sanitize_utf8(remark) << '\n';
  }
  out << '\n';
  Footnotes notes;
  write_text_table(report.matrix, notes, out);
  if (report.fronts) {
    write_text_fronts(report, out);
  }
  if (!notes.notes().empty()) {
    out << '\n';
  }
  for (std::size_t i = 0; i < notes.notes().size(); ++i) {
    out << fmt::format("[{}] {}\n", i + 1, sanitize_utf8(notes.notes()[i]));
  }
  if (!report.commands.empty()) {
    out << "\nWhat nobody has executed, these measure:\n";
  }
  for (std::size_t i = 0; i < std::min(kMaxCommands, report.commands.size()); ++i) {
    out << "  $ " << sanitize_utf8(report.commands[i].command) << '\n';
  }
  if (report.commands.size() > kMaxCommands) {
    out << fmt::format("  and {} more: --json lists them\n", report.commands.size() - kMaxCommands);
  }
}

}  // namespace plumb::reporting
