// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/matrix/matrix_documents.hpp"

#include <array>
#include <ostream>
#include <string>

#include "reporting/content/matrix/matrix_json.hpp"
#include "reporting/content/matrix/matrix_page.hpp"
#include "reporting/content/run/json_documents.hpp"
#include "reporting/document/aligned_table.hpp"

namespace plumb::reporting {
namespace {

constexpr std::array<OutputFormat<analysis::MatrixReport>, 5> kMatrixFormats{{
    {".html", "one page that opens offline", write_matrix_html},
    {".md", "Markdown", write_matrix_markdown},
    {".json", "JSON document", write_matrix_json},
    {".csv", "one line a cell", write_matrix_csv},
    {".txt", "text", write_matrix_text},
}};

}  // namespace

void write_matrix(const analysis::MatrixReport& report, OutputMode style, std::ostream& out) {
  style == OutputMode::kJson ? write_matrix_json(report, out) : write_matrix_text(report, out);
}

std::span<const OutputFormat<analysis::MatrixReport>> matrix_formats() {
  return kMatrixFormats;
}

void write_views(std::span<const analysis::MatrixView> views, OutputMode style, std::ostream& out) {
  if (style == OutputMode::kJson) {
    analysis::Json document = analysis::new_document();
    document["views"] = analysis::Json::array();
    for (const analysis::MatrixView& view : views) {
      document["views"].push_back(
          {{"name", view.name},
           {"shows", view.shows},
           {"figure", view.figure.empty() ? analysis::Json() : analysis::Json(view.figure)},
           {"needs", view.needs}});
    }
    return write_json(document, out);
  }
  AlignedTable table({{"view"}, {"figure", true}, {"shows"}});
  for (const analysis::MatrixView& view : views) {
    table.add({std::string(view.name),
               view.figure.empty() ? "–" : std::string(view.figure),
               std::string(view.shows)});
  }
  table.write(out);
  out << "\nFigures are those of the Benanza paper (Li et al., 2019).\n";
}

}  // namespace plumb::reporting
