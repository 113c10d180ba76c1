// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/matrix/matrix_documents.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iosfwd>
#include <ostream>
#include <string>

#include "harness/analysis/matrix/matrix.hpp"
#include "reporting/content/run/json_documents.hpp"
#include "reporting/document/page.hpp"
#include "reporting/document/texts.hpp"
#include "reporting/formats/pages.hpp"

namespace plumb::reporting {
namespace {

using analysis::Json;
using analysis::number_or_null;

std::string field_of(const analysis::Matrix& matrix) {
  return matrix.reference ? "ratio" : std::string(analysis::unit_of(matrix.query.quantity));
}

Json missing_json(const analysis::Matrix::Value::Missing& missing) {
  return {{"kind", to_text(missing.kind)}, {"reason", missing.reason}};
}

Json cell_json(const analysis::Matrix& matrix, const analysis::Matrix::Cell& cell) {
  const auto& value = cell.value;
  Json json{{field_of(matrix), value ? Json(value->value) : Json()},
            {"low", value ? number_or_null(value->low) : Json()},
            {"high", value ? number_or_null(value->high) : Json()},
            {"runs", cell.runs},
            {"disturbed", cell.disturbed}};
  if (matrix.query.mean_over_models) {
    json["models"] = cell.models;
  }
  if (!value || cell.left_out > 0) {
    json["missing"] = missing_json(cell.missing);
    json["left_out"] = cell.left_out;
  }
  return json;
}

Json mean_json(const analysis::Matrix& matrix, const std::optional<stats::GeometricMean>& mean) {
  if (!mean) {
    return {};
  }
  return {{field_of(matrix), mean->mean},
          {"low", number_or_null(mean->low)},
          {"high", number_or_null(mean->high)},
          {"rows", mean->n}};
}

Json runs_json(const analysis::MatrixReport& report) {
  const std::vector<analysis::Coordinates> places = analysis::place_runs(report.runs);
  Json runs = Json::array();
  for (std::size_t i = 0; i < report.runs.size(); ++i) {
    const analysis::Matrix::Run& run = report.runs[i];
    runs.push_back({{"run", run.header.id},
                    {"suite", run.header.suite},
                    {"environment", run.header.environment.id()},
                    {"runtime", at(places[i], analysis::Axis::kRuntime)},
                    {"stack", at(places[i], analysis::Axis::kStack)},
                    {"system", at(places[i], analysis::Axis::kSystem)},
                    {"threads", at(places[i], analysis::Axis::kThreads)},
                    {"started", plumb::to_text(run.header.started)},
                    {"state", to_text(run.state)},
                    {"models", run.models.size()},
                    {"problem", run.problem.empty() ? Json() : Json(run.problem)}});
  }
  return runs;
}

Json fronts_json(const std::vector<analysis::MatrixReport::Front>& fronts) {
  Json list = Json::array();
  for (const analysis::MatrixReport::Front& front : fronts) {
    Json points = Json::array();
    for (const analysis::MatrixReport::Front::Point& point : front.points) {
      points.push_back({{"batch", point.batch},
                        {"seconds", point.seconds.value},
                        {"low", number_or_null(point.seconds.low)},
                        {"high", number_or_null(point.seconds.high)},
                        {"inputs_per_second", point.inputs_per_second.value},
                        {"on_front", point.on_front},
                        {"limit", point.limit ? Json(to_text(*point.limit)) : Json()}});
    }
    Json absent = Json::array();
    for (const auto& each : front.absent) {
      absent.push_back({{"batch", each.batch}, {"missing", missing_json(each.missing)}});
    }
    list.push_back({{"row", front.name},
                    {"points", std::move(points)},
                    {"absent", std::move(absent)},
                    {"best_batch", front.best ? Json(front.points[*front.best].batch) : Json()}});
  }
  return list;
}

Json make_matrix_document(const analysis::MatrixReport& report) {
  const analysis::Matrix& matrix = report.matrix;
  Json document = analysis::new_document();
  document["view"] = report.view == nullptr ? Json() : Json(report.view->name);
  document["value"] = to_text(matrix.query.quantity);
  document["rows_axis"] = to_text(*matrix.query.rows);
  document["columns_axis"] = to_text(*matrix.query.columns);
  document["bounds_of"] = matrix.query.bounds_of.empty() ? Json() : Json(matrix.query.bounds_of);
  document["relative_to"] = matrix.reference ? Json(matrix.columns[*matrix.reference]) : Json();
  document["mean_over_models"] = matrix.query.mean_over_models;
  document["several_runs"] =
      matrix.query.shared == analysis::Matrix::Query::SharedCells::kMiddle ? "middle" : "newest";
  Json common = Json::object();
  for (const auto& [axis, place] : matrix.common) {
    if (!place.empty()) {
      common[std::string(to_text(axis))] = place;
    }
  }
  document["common"] = std::move(common);
  Json along = Json::array();
  for (const analysis::Axis axis : matrix.along) {
    along.push_back(to_text(axis));
  }
  document["differ_along"] = std::move(along);
  document["columns"] = matrix.columns;
  document["rows"] = Json::array();
  for (const analysis::Matrix::Row& row : matrix.rows) {
    Json cells = Json::array();
    for (const analysis::Matrix::Cell& cell : row.cells) {
      cells.push_back(cell_json(matrix, cell));
    }
    document["rows"].push_back({{"row", row.name}, {"cells", std::move(cells)}});
  }
  Json means = Json::array();
  for (const analysis::Matrix::Mean& mean : matrix.means) {
    means.push_back({{"own_rows", mean_json(matrix, mean.own)},
                     {"common_rows", mean_json(matrix, mean.common)}});
  }
  document["geometric_means"] = std::move(means);
  document["runs"] = runs_json(report);
  Json commands = Json::array();
  for (const analysis::MatrixReport::MissingCommand& each : report.commands) {
    commands.push_back({{"command", each.command}, {"cells", each.cells}});
  }
  document["commands"] = std::move(commands);
  if (report.fronts) {
    document["limit_seconds"] = analysis::seconds_or_null(report.limit);
    document["fronts"] = fronts_json(*report.fronts);
  }
  return document;
}

/// Writes the document that `plumb matrix --json` prints.
void write_matrix_json(const analysis::MatrixReport& report, std::ostream& out) {
  write_json(make_matrix_document(report), out);
}

/// Writes one line a cell, with the reason where it has no value.
void write_matrix_csv(const analysis::MatrixReport& report, std::ostream& out) {
  const analysis::Matrix& matrix = report.matrix;
  out << csv_row(
      {"row", "column", field_of(matrix), "low", "high", "runs", "disturbed", "missing", "reason"});
  for (const analysis::Matrix::Row& row : matrix.rows) {
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      const analysis::Matrix::Cell& cell = row.cells[i];
      const auto& value = cell.value;
      out << csv_row({row.name,
                      matrix.columns[i],
                      csv_number(value ? std::optional(value->value) : std::nullopt),
                      csv_number(value ? value->low : std::nullopt),
                      csv_number(value ? value->high : std::nullopt),
                      std::to_string(cell.runs),
                      cell.disturbed ? "yes" : "no",
                      value ? "" : std::string(to_text(cell.missing.kind)),
                      value ? "" : cell.missing.reason});
    }
  }
}

template <typename Built>
void write_as(const analysis::MatrixReport& report, std::ostream& out) {
  Built page(matrix_title(report));
  add_matrix(report, page);
  page.write(out);
}

constexpr std::array<OutputFormat<analysis::MatrixReport>, 5> kMatrixFormats{{
    {".html", "one page that opens offline", write_as<HtmlPage>},
    {".md", "Markdown", write_as<MarkdownPage>},
    {".json", "JSON document", write_matrix_json},
    {".csv", "one line a cell", write_matrix_csv},
    {".txt", "text", write_as<TextPage>},
}};

}  // namespace

void write_matrix(const analysis::MatrixReport& report, OutputMode style, std::ostream& out) {
  (style == OutputMode::kJson ? write_matrix_json : write_as<TextPage>)(report, out);
}

std::span<const OutputFormat<analysis::MatrixReport>> matrix_formats() {
  return kMatrixFormats;
}

void write_views(std::span<const analysis::MatrixReport::View> views,
                 OutputMode style,
                 std::ostream& out) {
  if (style == OutputMode::kJson) {
    analysis::Json document = analysis::new_document();
    document["views"] = analysis::Json::array();
    for (const analysis::MatrixReport::View& view : views) {
      document["views"].push_back(
          {{"name", view.name},
           {"shows", view.shows},
           {"figure", view.figure.empty() ? analysis::Json() : analysis::Json(view.figure)},
           {"needs", view.needs}});
    }
    return write_json(document, out);
  }
  AlignedTable table({{"view"}, {"figure", true}, {"shows"}});
  for (const analysis::MatrixReport::View& view : views) {
    table.add({std::string(view.name),
               view.figure.empty() ? "–" : std::string(view.figure),
               std::string(view.shows)});
  }
  table.write(out);
  out << "\nFigures are those of the Benanza paper (Li et al., 2019).\n";
}

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
std::string steps(const analysis::MatrixReport::Front& front, const LogAxis& x, const LogAxis& y) {
  std::vector<const analysis::MatrixReport::Front::Point*> points;
  for (const analysis::MatrixReport::Front::Point& point : front.points) {
    if (point.on_front) {
      points.push_back(&point);
    }
  }
  std::sort(points.begin(), points.end(), [](const auto* one, const auto* other) {
    return one->seconds.value < other->seconds.value;
  });
  std::string path;
  for (const analysis::MatrixReport::Front::Point* const point : points) {
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

}  // namespace

std::string pareto_plot(const analysis::MatrixReport::Front& front,
                        const std::optional<Seconds>& limit) {
  if (front.points.size() < 2) {
    return {};
  }
  LogAxis x(kMargin, kPictureWidth - kMargin);
  LogAxis y(kPictureHeight - kMargin, kMargin);
  for (const analysis::MatrixReport::Front::Point& point : front.points) {
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
  for (const analysis::MatrixReport::Front::Point& point : front.points) {
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

}  // namespace plumb::reporting
