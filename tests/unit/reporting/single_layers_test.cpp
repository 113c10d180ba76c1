// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>
#include <sstream>

#include "reporting/content/run/documents.hpp"
#include "tests/unit/reporting/sample_report.hpp"

namespace plumb::reporting {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// Makes a run of two layers and no model: one of 100 MMAC that takes 4 ms, one unsupported.
analysis::RunReport layers_report() {
  analysis::RunReport report = sample_report();
  report.models.clear();
  const model::LayerKey product{
      "v1:matmul;in=f32[1000,500],f32[500,200]c;out=f32[1000,200];acc=f32;math=strict"};
  analysis::SingleLayerResult timed;
  timed.layer = {product, 3, "shapes/a.toml"};
  timed.cost = model::compute_cost(model::parse_key(product));
  timed.time.emplace();
  timed.time->time.n = 30;
  timed.time->time.median = Seconds(4e-3);
  timed.time->time.interval = {Seconds(3.9e-3), Seconds(4.1e-3)};
  timed.time->variant = "impl=fast";
  timed.hardware = Seconds(2e-3);
  analysis::SingleLayerResult failed;
  failed.layer = {{"v1:matmul;in=f8e4m3[4,4],f8e4m3[4,4];out=f32[4,4];acc=f32;math=strict"}, 1, ""};
  failed.layer.file = kHostileName;
  failed.reason = "unsupported: " + kHostileName;
  report.layers = {timed, failed};
  return report;
}

TEST(SingleLayers, stand_in_the_json_document) {
  std::ostringstream out;
  write_bounds(layers_report(), OutputMode::kJson, out);
  const auto document = nlohmann::json::parse(out.str());
  EXPECT_EQ(document["models"].size(), 0U);
  ASSERT_EQ(document["layers"].size(), 2U);
  const auto& timed = document["layers"][0];
  EXPECT_EQ(timed["macs"], 100'000'000);
  EXPECT_EQ(timed["count"], 3);
  EXPECT_EQ(timed["seconds"], 4e-3);
  EXPECT_EQ(timed["low"], 3.9e-3);
  EXPECT_EQ(timed["hardware_seconds"], 2e-3);
  EXPECT_EQ(timed["cache"], "none");
  EXPECT_TRUE(document["layers"][1]["seconds"].is_null());
  EXPECT_THAT(document["layers"][1]["reason"].get<std::string>(), HasSubstr("unsupported"));
}

TEST(SingleLayers, are_a_table_on_a_terminal) {
  std::ostringstream out;
  write_bounds(layers_report(), OutputMode::kText, out);
  EXPECT_THAT(out.str(), HasSubstr("4.000 ms  100.0 M  25.00 G       2.00×      3  "));
  EXPECT_TRUE(is_clean_utf8(out.str()));
}

TEST(SingleLayers, are_a_section_of_every_report) {
  const std::string markdown = written(layers_report(), ".md");
  EXPECT_THAT(markdown, HasSubstr("| 4.000 ms | 100.0 M | 25.00 G | 2.00× | 3 | ``impl=fast`` |"));
  EXPECT_THAT(markdown, Not(HasSubstr("| model |"))) << "there is none";
  EXPECT_TRUE(is_clean_utf8(markdown));
  const std::string junit = written(layers_report(), ".xml");
  EXPECT_THAT(junit,
              HasSubstr("<testsuite name=\"single layers\" tests=\"2\" failures=\"0\" "
                        "errors=\"0\" skipped=\"1\" time=\"0.004000000\""));
  EXPECT_THAT(junit, Not(HasSubstr("<script")));
  const std::string page = written(layers_report(), ".html");
  EXPECT_THAT(page, HasSubstr("<td class=\"number\" data-value=\"2\">2.00×</td>"));
  EXPECT_THAT(page, Not(HasSubstr(kHostileName)));
}

TEST(SingleLayers, are_cut_where_a_comment_ends) {
  analysis::RunReport report = layers_report();
  report.layers.resize(3000, report.layers.front());
  const std::string markdown = written(report, ".md");
  EXPECT_LT(markdown.size(), 60'000U);
  EXPECT_THAT(markdown, HasSubstr("more: the HTML report has them"));
}

}  // namespace
}  // namespace plumb::reporting
