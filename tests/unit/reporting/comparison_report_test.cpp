// SPDX-License-Identifier: Apache-2.0
#include "reporting/content/comparison/comparison_report.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "harness/base/error.hpp"
#include "tests/unit/reporting/sample_report.hpp"

namespace plumb::reporting {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const std::string kKey =
    "v1:eltwise;in=f32[8];out=f32[8];acc=f32;math=strict;fn=relu;parameters=[]";

analysis::MetricComparison metric(const std::string& series,
                                  analysis::MetricKind kind,
                                  double ratio,
                                  analysis::ComparisonVerdict verdict) {
  analysis::MetricComparison result;
  result.series = series;
  result.kind = kind;
  result.baseline = 1e-3;
  result.candidate = 1e-3 * ratio;
  result.ratio = ratio;
  result.low = ratio - 0.01;
  result.high = ratio + 0.01;
  result.q = 0.001;
  result.mde = 0.013;
  result.verdict = verdict;
  return result;
}

/// Makes a comparison with something of every kind.
analysis::ComparisonReport sample_comparison() {
  analysis::ComparisonReport report;
  report.baseline = report.candidate = sample_report().run;
  report.candidate.header.id = "01JFKD2M4N5P6Q7R8S9T0VWXZZ";
  report.varied = {"stack"};
  report.environment_diff = {{"library", "fake 1.0", "fake 2.0", true}};
  report.places = {{kKey, "relu1 of tiny, and 2 more"}};
  report.comparison.verdict = analysis::ComparisonVerdict::kRegressed;
  analysis::MetricComparison model = metric("models/tiny|1|f32/end_to_end/plain/single_stream",
                                            analysis::MetricKind::kEndToEnd,
                                            1.002,
                                            analysis::ComparisonVerdict::kEquivalent);
  model.model = "tiny|1|f32";
  analysis::MetricComparison slow = metric(
      "layers/" + kKey, analysis::MetricKind::kLayer, 1.2, analysis::ComparisonVerdict::kRegressed);
  slow.causes = {{"implementation changed", 1.0, "a → b"}};
  analysis::MetricComparison open = metric(
      "layers/open", analysis::MetricKind::kLayer, 1.0, analysis::ComparisonVerdict::kInconclusive);
  open.ratio.reset();
  open.reason = "the candidate did not measure it";
  analysis::MetricComparison same;
  same.series = "accuracy/" + kKey;
  same.kind = analysis::MetricKind::kAccuracy;
  same.verdict = analysis::ComparisonVerdict::kEquivalent;
  same.reason = "other bits within the tolerance";
  same.output = analysis::MetricComparison::Output{false, 1e-7, 2e-7};
  report.comparison.metrics = {slow, model, open, same};
  analysis::FunctionFinding inside;
  inside.series = slow.series;
  inside.model = "tiny|1|f32";
  inside.mode = "fusion";
  inside.layer = kKey;
  inside.ratio = 1.12;
  inside.low = 1.09;
  inside.high = 1.15;
  inside.baseline_samples = 20'113;
  inside.candidate_samples = 20'044;
  inside.baseline = Seconds(1e-3);
  inside.candidate = Seconds(1.12e-3);
  inside.change_low = Seconds(1.1e-4);
  inside.change_high = Seconds(1.3e-4);
  inside.parts = {{"jit:reorder",
                   "generated",
                   "relu1",
                   Seconds(1.1e-4),
                   Seconds(1e-4),
                   Seconds(1.2e-4),
                   false,
                   true}};
  analysis::FunctionFinding open_inside;
  open_inside.model = "vgg|1|f32";
  open_inside.mode = "fusion";
  open_inside.ratio = 0.8;
  open_inside.problem = "too few samples";
  report.functions = {inside, open_inside};
  report.samples = {{slow.series,
                     {Seconds(1e-3), Seconds(1.01e-3), Seconds(1.02e-3)},
                     {Seconds(1.2e-3), Seconds(1.21e-3)}}};
  return report;
}

TEST(ComparisonReport, every_format_names_the_functions_that_explain_a_change) {
  const std::string sentence =
      "relu1 of tiny, and 2 more regressed by 12 % (9 to 15 %); +12.0 % (+11.0 % to +13.0 %) "
      "inside the model: +11.0 % in 'jit:reorder', which the baseline did not execute; +1.0 % "
      "unexplained (20113 and 20044 samples)";
  for (const char* const format : {".txt", ".md", ".html"}) {
    std::ostringstream out;
    format_for(comparison_formats(), std::string("comparison") + format)
        .write(sample_comparison(), out);
    std::string text = out.str();
    for (std::size_t at; (at = text.find("&apos;")) != std::string::npos;) {
      text.replace(at, 6, "'");
    }
    EXPECT_THAT(text, HasSubstr(sentence)) << format;
    EXPECT_THAT(
        text,
        HasSubstr("f32 in the mode fusion improved by 20 %; no functions are named: too few "
                  "samples"))
        << format;
  }
  std::ostringstream out;
  format_for(comparison_formats(), "comparison.json").write(sample_comparison(), out);
  const nlohmann::json functions = nlohmann::json::parse(out.str()).at("functions");
  EXPECT_EQ(functions[0]["parts"][0]["function"], "jit:reorder");
  EXPECT_NEAR(functions[0]["unexplained_seconds"].get<double>(), 1e-5, 1e-12);
  EXPECT_EQ(functions[1]["candidate_seconds"], nullptr);
}

/// Writes a comparison as text, with another explanation in place of the first.
std::string written_with(const analysis::FunctionFinding& finding) {
  analysis::ComparisonReport report = sample_comparison();
  report.functions = {finding};
  std::ostringstream out;
  format_for(comparison_formats(), "comparison.txt").write(report, out);
  return out.str();
}

TEST(ComparisonReport, says_where_a_layer_was_profiled_alone) {
  analysis::FunctionFinding finding = sample_comparison().functions.at(0);
  finding.model = finding.layer;
  EXPECT_THAT(written_with(finding), HasSubstr("(+11.0 % to +13.0 %) alone: +11.0 % in"));
}

TEST(ComparisonReport, says_where_intervals_do_not_know_how_processes_differ) {
  analysis::FunctionFinding finding = sample_comparison().functions.at(0);
  finding.interval_of = "processes";
  EXPECT_THAT(written_with(finding), Not(HasSubstr("how processes differ")));
  finding.interval_of = "blocks";
  EXPECT_THAT(written_with(finding),
              HasSubstr("do not know how processes differ in 1 of these 1: a side has fewer than 6 "
                        "processes"));
}

TEST(ComparisonReport, says_where_profiles_and_the_measurement_disagree) {
  analysis::FunctionFinding finding = sample_comparison().functions.at(0);
  finding.low = 1.01;
  finding.ratio = 1.02;
  finding.high = 1.03;
  EXPECT_THAT(written_with(finding),
              HasSubstr("regressed by 2 % (1 to 3 %), which disagrees with +12.0 % (+11.0 % to "
                        "+13.0 %) inside the model: +11.0 % in"));
  finding.layer.clear();
  finding.measured_mode = "plain";
  EXPECT_THAT(written_with(finding),
              HasSubstr("tiny|1|f32 in the mode plain regressed by 2 % (1 to 3 %); +12.0 % (+11.0 "
                        "% to +13.0 %) in its profiles in the mode fusion: "));
  finding.change_low.reset();
  finding.measured_mode.clear();
  EXPECT_THAT(
      written_with(finding),
      HasSubstr("in the mode fusion regressed by 2 % (1 to 3 %); +12.0 % in its profiles: "));
}

/// Makes `count` regressed layers with hostile names, each worse than the last.
analysis::ComparisonReport hostile_comparison(std::size_t count) {
  analysis::ComparisonReport report = sample_comparison();
  report.environment_diff = {{kHostileName, kHostileName, kHostileName, true}};
  report.varied = {kHostileName};
  report.comparison.metrics.clear();
  for (std::size_t i = 0; i < count; ++i) {
    analysis::MetricComparison each = metric("layers/" + kHostileName + std::to_string(i),
                                             analysis::MetricKind::kLayer,
                                             1.1 + 0.001 * static_cast<double>(i),
                                             analysis::ComparisonVerdict::kRegressed);
    each.reason = kHostileName;
    each.causes = {{"cause", 1.0, kHostileName}};
    report.places["" + kHostileName + std::to_string(i)] = kHostileName;
    report.comparison.metrics.push_back(each);
  }
  report.samples = {{kHostileName, {Seconds(1.0)}, {Seconds(2.0)}}};
  return report;
}

std::string text_of(const analysis::ComparisonReport& report, const std::string& extension) {
  std::ostringstream out;
  format_for(comparison_formats(), "x" + extension).write(report, out);
  return out.str();
}

TEST(ComparisonReport, text_shows_the_largest_causes_of_a_metric_and_counts_the_others) {
  analysis::ComparisonReport report = sample_comparison();
  report.comparison.metrics[0].causes = {{"first", 0.3, "a"},
                                         {"none", 0.001, "b"},
                                         {"largest", 0.5, "c"},
                                         {"against", -0.2, "d"},
                                         {"fourth", 0.1, "e"}};
  const std::string text = text_of(report, ".txt");
  EXPECT_THAT(text, HasSubstr("largest (50 %): c\n"));
  EXPECT_LT(text.find("largest (50 %)"), text.find("first (30 %)"));
  EXPECT_LT(text.find("first (30 %)"), text.find("against (-20 %)"));
  EXPECT_THAT(text, Not(HasSubstr("fourth")));
  EXPECT_THAT(text, HasSubstr("  and 2 smaller causes, all of them with --json\n"));
  EXPECT_THAT(text_of(sample_comparison(), ".txt"), Not(HasSubstr("smaller causes")));
}

TEST(ComparisonReport, the_page_shows_changes_models_layers_samples_outputs_and_the_command) {
  const std::string page = text_of(sample_comparison(), ".html");
  for (const char* heading : {"What changed",
                              "Model by model",
                              "Layers",
                              "Raw times of what changed",
                              "Outputs",
                              "Environment",
                              "Method"}) {
    EXPECT_THAT(page, HasSubstr(std::string("<h2>") + heading + "</h2>"));
  }
  EXPECT_THAT(page, HasSubstr("<svg class=\"ratio regressed\""));
  EXPECT_THAT(page, HasSubstr("<svg class=\"strips\""));
  EXPECT_THAT(page, HasSubstr("relu1 of tiny, and 2 more: plumb layer &apos;v1:eltwise"));
  EXPECT_THAT(page, HasSubstr("implementation changed (100 %): a → b"));
  EXPECT_THAT(page, HasSubstr("<td class=\"number\">1.30 %</td>")) << "what it could have detected";
  EXPECT_THAT(page, HasSubstr("--vary &apos;stack&apos;"));
  EXPECT_THAT(page, HasSubstr("n = 3, median 1.010 ms"));
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, Not(HasSubstr("href=\"/"))) << "a file links to no server";
}

TEST(ComparisonReport, junit_fails_what_got_worse_and_skips_what_is_open) {
  const std::string text = text_of(sample_comparison(), ".xml");
  EXPECT_THAT(text, StartsWith("<?xml"));
  EXPECT_THAT(text, HasSubstr("tests=\"4\" failures=\"1\" errors=\"0\" skipped=\"1\">"));
  EXPECT_THAT(text, HasSubstr("<testsuite name=\"tiny|1|f32\" tests=\"1\" failures=\"0\""));
  EXPECT_THAT(text, HasSubstr("<failure type=\"regressed\" message=\"+20.00 %"));
  EXPECT_THAT(text, HasSubstr("<skipped message=\"inconclusive: the candidate did not measure it"));
  EXPECT_THAT(text, HasSubstr("<property name=\"ratio\" value=\"1.200000\"/>"));
  EXPECT_THAT(text, HasSubstr("<property name=\"place\" value=\"relu1 of tiny, and 2 more\"/>"));
}

TEST(ComparisonReport, bytes_are_no_seconds_in_any_format) {
  analysis::ComparisonReport report = sample_comparison();
  analysis::MetricComparison workspace = metric(
      "costs/workspace", analysis::MetricKind::kCost, 1.5, analysis::ComparisonVerdict::kRegressed);
  workspace.in_bytes = true;
  workspace.baseline = 4096.0;
  workspace.candidate = 6144.0;
  const std::string before = text_of(report, ".xml");
  report.comparison.metrics.push_back(workspace);
  const std::string text = text_of(report, ".xml");
  const auto time_of_layers = [](const std::string& junit) {
    const auto at = junit.find("time=", junit.find("<testsuite name=\"layers\""));
    return junit.substr(at, junit.find('"', at + 6) - at);
  };
  EXPECT_EQ(time_of_layers(text), time_of_layers(before)) << "the sum is one of seconds";
  EXPECT_THAT(text, HasSubstr("<testcase classname=\"layers\" name=\"costs/workspace\">"));
  EXPECT_THAT(text, HasSubstr("name=\"candidate_bytes\" value=\"6144\""));
  EXPECT_THAT(text_of(report, ".csv"),
              HasSubstr("costs/workspace,cost,,bytes,4096,6144,1.5,1.49,1.51,0.001,0.013,"
                        "regressed,no,,\n"));
}

TEST(ComparisonReport, every_format_lists_what_the_suite_excludes) {
  analysis::ComparisonReport report = sample_comparison();
  report.exclusions = {{{"v1:gone*", "known since May", "ann", "2027-01-31"}, false, {}}};
  report.exclusions[0].metrics = {metric("layers/v1:gone",
                                         analysis::MetricKind::kLayer,
                                         2.0,
                                         analysis::ComparisonVerdict::kRegressed)};
  for (const char* const extension : {".html", ".md", ".json", ".xml", ".csv", ".txt"}) {
    const std::string text = text_of(report, extension);
    EXPECT_THAT(text, HasSubstr("known since May")) << extension;
    EXPECT_THAT(text, HasSubstr("regressed")) << extension;
  }
  EXPECT_THAT(text_of(report, ".xml"), HasSubstr("failures=\"1\"")) << "it fails nothing";
  EXPECT_THAT(text_of(report, ".annotations"), Not(HasSubstr("gone")));
}

TEST(ComparisonReport, json_is_what_the_command_prints_with_places_and_outputs) {
  std::ostringstream printed;
  write_run_comparison(sample_comparison(), OutputMode::kJson, printed);
  const std::string text = text_of(sample_comparison(), ".json");
  EXPECT_EQ(text, printed.str());
  const auto document = nlohmann::json::parse(text);
  EXPECT_EQ(document["varied"], nlohmann::json{"stack"});
  EXPECT_EQ(document["metrics"][0]["place"], "relu1 of tiny, and 2 more");
  EXPECT_EQ(document["metrics"][3]["output"]["candidate_maximum_error"], 2e-7);
  EXPECT_TRUE(document["metrics"][3]["ratio"].is_null());
  EXPECT_FALSE(document["metrics"][0].contains("output"));
}

TEST(ComparisonReport, every_format_has_the_geometric_mean_and_what_is_not_compared) {
  analysis::ComparisonReport report = sample_comparison();
  const results::Outcome failure{results::Outcome::Kind::kUnsupported, "no <file>"};
  report.comparison.not_compared = {{"layers/external:a:b", failure, failure}};
  report.comparison.overall =
      analysis::RunComparison::Overall{metric("geometric_mean",
                                              analysis::MetricKind::kOverall,
                                              1.1,
                                              analysis::ComparisonVerdict::kRegressed),
                                       606,
                                       400,
                                       206};
  const auto document = nlohmann::json::parse(text_of(report, ".json"));
  EXPECT_EQ(document["overall"]["ratio"], 1.1);
  EXPECT_EQ(document["overall"]["metrics"], 606);
  EXPECT_EQ(document["overall"]["verdict"], "regressed");
  EXPECT_EQ(document["not_compared"][0]["series"], "layers/external:a:b");
  EXPECT_EQ(document["not_compared"][0]["outcome"], "unsupported");
  for (const char* const format : {".txt", ".md", ".html"}) {
    const std::string text = text_of(report, format);
    EXPECT_THAT(text, HasSubstr("geometric mean of 606: +10.00 %")) << format;
    EXPECT_THAT(text, HasSubstr("layers/external:a:b")) << format;
    EXPECT_THAT(text, HasSubstr("failed in the same way in both")) << format;
  }
  EXPECT_THAT(
      text_of(report, ".xml"),
      HasSubstr("not compared: failed in the same way in both; unsupported: no &lt;file&gt;"));
}

TEST(ComparisonReport, an_unknown_interval_is_null_and_never_zero) {
  analysis::ComparisonReport report = sample_comparison();
  report.comparison.metrics[0].has_interval = false;
  const auto document = nlohmann::json::parse(text_of(report, ".json"));
  EXPECT_TRUE(document["metrics"][0]["interval"].is_null());
  EXPECT_EQ(document["metrics"][0]["ratio"], 1.2);
  EXPECT_TRUE(document["overall"].is_null());
  EXPECT_THAT(text_of(report, ".xml"), Not(HasSubstr("name=\"interval\" value=\"1.2")));
}

TEST(ComparisonReport, markdown_leads_with_what_changed_and_the_detectable_change) {
  const std::string text = text_of(sample_comparison(), ".md");
  EXPECT_THAT(text,
              StartsWith("## Plumbline: regressed\n**regressed.** 0 broken, 1 regressed, 0 "
                         "improved, 2 equivalent, 1 inconclusive"));
  EXPECT_THAT(text,
              HasSubstr("| regressed | layer | ``relu1 of tiny, and 2 more: plumb layer "
                        "'v1:eltwise"));
  EXPECT_THAT(text, HasSubstr("1 with other bits within the tolerance"));
  EXPECT_THAT(text,
              HasSubstr("| equivalent | end\\_to\\_end | models/tiny\\|1\\|f32/end\\_to\\_end"));
  EXPECT_THAT(text, HasSubstr("1.30 %"));
}

TEST(ComparisonReport, markdown_of_a_thousand_changes_fits_a_comment) {
  const std::string text = text_of(hostile_comparison(1000), ".md");
  EXPECT_LT(text.size(), 65'536U);
  EXPECT_THAT(text, testing::ContainsRegex("and [0-9]+ more: the HTML report has them"));
}

TEST(ComparisonReport, annotations_are_ten_at_most_and_cannot_be_broken_out_of) {
  const std::string text = text_of(hostile_comparison(37), ".annotations");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 10);
  EXPECT_THAT(text, HasSubstr("title=and 28 more::9 of 37 are listed"));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_THAT(line, StartsWith("::error title="));
    EXPECT_EQ(line.find("::", line.find("::", 2) + 2), std::string::npos) << line;
  }
  const std::string one = text_of(sample_comparison(), ".annotations");
  EXPECT_THAT(one,
              StartsWith("::error title=layer regressed%3A relu1 of tiny%2C and 2 more::v1%3A"));
}

TEST(ComparisonReport, hostile_names_are_text_in_every_format) {
  for (const auto& format : comparison_formats()) {
    const std::string text = text_of(hostile_comparison(3), std::string(format.extension));
    EXPECT_TRUE(is_clean_utf8(text)) << format.extension;
    if (format.extension == ".html" || format.extension == ".xml") {
      EXPECT_THAT(text, Not(HasSubstr("<script")));
    }
  }
}

TEST(ComparisonReport, an_unknown_extension_is_refused_with_those_there_are) {
  try {
    static_cast<void>(format_for(comparison_formats(), "report.pdf"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kUser);
    EXPECT_THAT(error.what(), HasSubstr(".html, .md, .json, .xml"));
  }
}

}  // namespace
}  // namespace plumb::reporting
