// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/matrix/matrix_documents.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/unit/analysis/matrix_runs.hpp"

namespace plumb::reporting {
namespace {

using analysis::failed_model;
using analysis::run_of;
using analysis::timed_model;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kHostile = "<b>evil</b>\x1b[31m|,\"";

analysis::MatrixReport sample(analysis::Matrix::Query query = {}) {
  analysis::MatrixReport report;
  report.runs = {
      run_of("1", "old", {timed_model("lenet", 2e-3), timed_model(kHostile, 1e-3)}),
      run_of("2",
             "new",
             {timed_model("lenet", 1e-3),
              failed_model(kHostile, results::Outcome::Kind::kCrashed, "<i>signal</i> 11")})};
  report.matrix = analysis::make_matrix(report.runs, std::move(query));
  report.commands = {{"plumb run s --mode fusion", 2}};
  return report;
}

std::string as_file(const analysis::MatrixReport& report, const std::string& file) {
  std::ostringstream out;
  format_for(matrix_formats(), file).write(report, out);
  return out.str();
}

TEST(MatrixDocuments, every_format_has_the_value_and_the_reason_of_what_is_missing) {
  const analysis::MatrixReport report = sample();
  for (const char* const file : {"m.html", "m.md", "m.txt"}) {
    const std::string text = as_file(report, file);
    EXPECT_THAT(text, HasSubstr("2.000 ms ± 2.0 %")) << file;
    EXPECT_THAT(text, HasSubstr("crashed")) << file;
    EXPECT_THAT(text, HasSubstr("signal")) << file;
    EXPECT_THAT(text, HasSubstr("plumb run s --mode fusion")) << file;
  }
  EXPECT_THAT(as_file(report, "m.csv"), HasSubstr("lenet,old,0.002,"));
  EXPECT_THAT(as_file(report, "m.csv"), HasSubstr(",,,,0,no,failed,crashed in the mode plain"));
}

TEST(MatrixDocuments, hostile_names_are_text_in_every_format) {
  const analysis::MatrixReport report = sample();
  for (const char* const file : {"m.html", "m.md", "m.txt", "m.csv"}) {
    EXPECT_THAT(as_file(report, file), Not(HasSubstr("\x1b"))) << file;
  }
  EXPECT_THAT(as_file(report, "m.html"), Not(HasSubstr("<b>evil")));
  EXPECT_THAT(as_file(report, "m.html"), Not(HasSubstr("<i>signal")));
  EXPECT_THAT(as_file(report, "m.md"), Not(HasSubstr("<b>evil")));
  const auto document = nlohmann::json::parse(as_file(report, "m.json"));
  EXPECT_EQ(document["rows"][1]["row"], kHostile) << "JSON keeps every byte";
}

TEST(MatrixDocuments, json_has_null_and_a_reason_never_zero) {
  const auto document = nlohmann::json::parse(as_file(sample(), "m.json"));
  EXPECT_EQ(document["schema_version"], 1);
  const auto& cell = document["rows"][1]["cells"][1];
  EXPECT_TRUE(cell["seconds"].is_null());
  EXPECT_TRUE(cell["low"].is_null());
  EXPECT_EQ(cell["missing"]["kind"], "failed");
  EXPECT_DOUBLE_EQ(document["rows"][0]["cells"][0]["seconds"], 2e-3);
  EXPECT_EQ(document["runs"].size(), 2U);
}

TEST(MatrixDocuments, html_shades_what_is_slower_than_the_fastest_and_marks_what_is_missing) {
  const std::string page = as_file(sample(), "m.html");
  EXPECT_THAT(page, HasSubstr("<td class=\"number shade slow4\">2.000 ms"));
  EXPECT_THAT(page, HasSubstr("<td class=\"number\">1.000 ms"));
  EXPECT_THAT(page, HasSubstr("<td class=\"number absent\">crashed [1]"));
  const std::string relative = as_file(sample({.relative_to = "old"}), "m.html");
  EXPECT_THAT(relative, HasSubstr("<td class=\"number shade fast4\">0.50×"));
  EXPECT_THAT(relative, HasSubstr("blue is faster"));
}

TEST(MatrixDocuments, a_note_stands_once_however_many_cells_refer_to_it) {
  analysis::MatrixReport report = sample({.modes = {"fusion"}});
  const std::string text = as_file(report, "m.txt");
  EXPECT_THAT(text, HasSubstr("[1] not executed end to end in the mode fusion"));
  EXPECT_THAT(text, Not(HasSubstr("[2]")));
}

TEST(MatrixDocuments, a_view_without_any_value_says_what_it_needs) {
  analysis::MatrixReport report = sample({.modes = {"fusion"}});
  report.view = &analysis::find_view("bf16-channels-last-speedup");
  std::ostringstream out;
  write_matrix(report, OutputMode::kText, out);
  EXPECT_THAT(out.str(), HasSubstr("needs --mode plain --mode bf16+channels_last"));
}

TEST(MatrixDocuments, a_front_is_a_table_and_in_html_a_picture) {
  analysis::MatrixReport report;
  report.runs = {
      run_of("1",
             "x",
             {timed_model("m", 1e-3, 1), timed_model("m", 2e-3, 8), timed_model("m", 9e-3, 16)})};
  report.matrix = analysis::make_matrix(report.runs, {.columns = analysis::Axis::kBatch});
  report.limit = Seconds(3e-3);
  report.fronts = analysis::pareto_fronts(report.matrix, report.limit);
  EXPECT_THAT(as_file(report, "m.txt"),
              HasSubstr("m: best within 3.000 ms: batch 8 with 4.000 k/s"));
  EXPECT_THAT(as_file(report, "m.html"), HasSubstr("<svg class=\"pareto\""));
  EXPECT_THAT(as_file(report, "m.md"), Not(HasSubstr("<svg")));
  const auto document = nlohmann::json::parse(as_file(report, "m.json"));
  EXPECT_EQ(document["fronts"][0]["best_batch"], 8);
  EXPECT_EQ(document["fronts"][0]["points"][2]["on_front"], false);
  EXPECT_EQ(document["fronts"][0]["points"][2]["limit"], "missed");
}

}  // namespace
}  // namespace plumb::reporting
