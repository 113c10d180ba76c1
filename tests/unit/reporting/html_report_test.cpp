// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/support/sample_profile.hpp"
#include "tests/unit/reporting/sample_report.hpp"

namespace plumb::reporting {
namespace {

std::size_t occurrences(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + what.size())) {
    ++count;
  }
  return count;
}

TEST(HtmlReport, holds_the_run_as_json) {
  const auto data = nlohmann::json::parse(data_of(written(sample_report(), ".html")));
  EXPECT_EQ(data["header"]["run"], "01JFKD2M4N5P6Q7R8S9T0VWXYZ");
  EXPECT_EQ(data["calibration"]["peak_f32_flops_per_second"], 1e11);
  const auto& model = data["models"][0];
  EXPECT_EQ(model["measured_layers"], 4);
  const auto& cover = model["cover"];
  ASSERT_EQ(cover.size(), 4U);
  EXPECT_EQ(cover[0]["name"], "conv1");
  EXPECT_EQ(cover[0]["macs"], 14 * 14 * 16 * 8 * 9);
  EXPECT_EQ(cover[0]["bytes"], 4 * (8 * 14 * 14 + 16 * 8 * 3 * 3 + 16 * 14 * 14));
  EXPECT_EQ(cover[0]["seconds"], 2e-3);
  EXPECT_EQ(cover[1]["after"], nlohmann::json({0}));
  EXPECT_EQ(cover[3]["after"], nlohmann::json({2}));
  EXPECT_TRUE(cover[2]["free"]);
}

TEST(HtmlReport, holds_the_profile_of_a_model_as_data) {
  analysis::RunReport report = sample_report();
  report.models[0].profile = test::stored_profile("01J").profile;
  report.models[0].profile->listings[0].instructions[0].text = "<script>evil";
  const std::string page = written(report, ".html");
  EXPECT_EQ(page.find("<title>conv1"), std::string::npos) << "no markup of the page";
  EXPECT_EQ(page.find("<script>evil"), std::string::npos);
  const auto model = nlohmann::json::parse(data_of(page))["models"][0];
  EXPECT_THAT(model["flame_graph"]["svg"].get<std::string>(),
              testing::HasSubstr("<title>conv1+relu1: 340 samples"));
  EXPECT_EQ(model["flame_graph"]["mode"], "fusion");
  ASSERT_EQ(model["listings"].size(), 2U);
  EXPECT_THAT(model["listings"][0]["title"].get<std::string>(),
              testing::HasSubstr("jit_brgemm_kernel_t, generated, most in conv1+relu1"));
  EXPECT_EQ(model["listings"][0]["rows"][1],
            nlohmann::json({"11.8 %", "8.8–15.6", "40", "4", "<script>evil"}));
  EXPECT_TRUE(model["listings"][1]["rows"].empty());
  report.models[0].profile = {};
  const auto without = nlohmann::json::parse(data_of(written(report, ".html")))["models"][0];
  EXPECT_EQ(without["flame_graph"], nullptr);
  EXPECT_TRUE(without["listings"].empty());
}

TEST(HtmlReport, has_the_address_of_the_commit) {
  analysis::RunReport report = sample_report();
  EXPECT_EQ(nlohmann::json::parse(data_of(written(report, ".html")))["commit_url"], "");
  report.run.header.environment.facts["label.commit"] = "4f2a";
  report.commits = results::CommitLink("https://example.org/{commit}");
  const auto data = nlohmann::json::parse(data_of(written(report, ".html")));
  EXPECT_EQ(data["commit_url"], "https://example.org/4f2a");
  EXPECT_EQ(data["header"]["labels"]["commit"], "4f2a");
}

TEST(HtmlReport, says_of_a_step_what_the_backend_says_of_its_row) {
  analysis::RunReport report = sample_report();
  results::StoredMeasurement row;
  row.row = 77;
  row.measurement.attributes = {{"engine", "62"}, {"plan", std::string(1793, 'x')}};
  row.measurement.readings = {{"power_watts", {310.0, 309.0, 312.0, 3}},
                              {"temperature_celsius", {61.0, 61.0, 61.0, 1}}};
  report.rows.push_back(row);
  report.models[0].bounds.cover[0].time->row = 77;
  report.models[0].bounds.cover[1].time->row = 78;
  const auto data = nlohmann::json::parse(data_of(written(report, ".html")));
  const auto& cover = data["models"][0]["cover"];
  EXPECT_EQ(
      cover[0]["executed_by"],
      "engine 62 · plan (1793 bytes) · power_watts 310 (309 to 312) · temperature_celsius 61");
  EXPECT_FALSE(cover[1].contains("executed_by"));
}

TEST(HtmlReport, is_the_same_bytes_for_the_same_value) {
  EXPECT_EQ(written(sample_report(), ".html"), written(sample_report(), ".html"));
  EXPECT_EQ(written(hostile_report(), ".html"), written(hostile_report(), ".html"));
}

TEST(HtmlReport, lets_no_name_out_of_the_data) {
  const std::string plain = written(sample_report(), ".html");
  const std::string page = written(hostile_report(), ".html");
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  EXPECT_EQ(occurrences(page, "<script"), occurrences(plain, "<script"));
  EXPECT_EQ(occurrences(page, "</script"), occurrences(plain, "</script"));
  EXPECT_EQ(occurrences(page, "-->"), occurrences(plain, "-->"));
  const std::string data = data_of(page);
  EXPECT_EQ(data.find_first_of("<>&\n\x1b"), std::string::npos);
  EXPECT_EQ(data.find("\xe2\x80\xa8"), std::string::npos);
  const auto name = nlohmann::json::parse(data)["models"][0]["cover"][0]["name"];
  EXPECT_THAT(name.get<std::string>(),
              ::testing::StartsWith("</script><script>alert(1)</script>-->]]>\"'|`"));
  EXPECT_THAT(name.get<std::string>(), ::testing::EndsWith("@@DATA@@"));
}

TEST(HtmlReport, shows_what_is_not_known_as_null) {
  const auto data = nlohmann::json::parse(data_of(written(hostile_report(), ".html")));
  const auto& model = data["models"][0];
  EXPECT_TRUE(model["cover"][3]["seconds"].is_null());
  EXPECT_FALSE(model["bounds"][1]["complete"]);
  EXPECT_EQ(model["measured_layers"], 2);
  EXPECT_EQ(model["total_layers"], 4);
  EXPECT_TRUE(model["whatifs"][1]["predicted_seconds"].is_null());
  EXPECT_EQ(data["failures"][0]["outcome"], "crashed");
}

TEST(HtmlReport, refers_to_nothing_outside_itself) {
  std::string page = written(sample_report(), ".html");
  EXPECT_THAT(page, ::testing::HasSubstr("default-src 'none'"));
  for (const char* const attribute : {" src=", " href=", "@import", "url(", "integrity="}) {
    const std::size_t at = page.find(attribute);
    EXPECT_EQ(at, std::string::npos) << page.substr(at, 80);
  }
  // addresses stand only in comments (the charts' and their licence) and in the name of SVG
  const std::string licence = page.substr(page.find("<!--"), page.find("-->") - page.find("<!--"));
  page.erase(page.find("<!--"), licence.size());
  for (std::size_t at = page.find("://"); at != std::string::npos; at = page.find("://", at + 1)) {
    const std::string address = page.substr(at, 24);
    EXPECT_TRUE(address.starts_with("://www.w3.org/2000/svg") ||
                address.starts_with("://www.chartjs.org") ||
                address.starts_with("://github.com/kurkle/col"))
        << page.substr(at < 30 ? 0 : at - 30, 80);
  }
}

TEST(HtmlReport, names_the_licence_of_the_charts) {
  EXPECT_THAT(written(sample_report(), ".html"), ::testing::HasSubstr("Expat"));
}

TEST(HtmlReport, shares_of_operators_add_up_to_each_model) {
  analysis::RunReport report = sample_report();
  report.models.push_back(report.models[0]);
  for (analysis::PartitionStep& step : report.models[1].bounds.cover) {
    step.time.reset();
  }
  const auto data = nlohmann::json::parse(data_of(written(report, ".html")));
  double sum = 0.0;
  double largest = 1.0;
  ASSERT_FALSE(data["operators"].empty());
  for (const auto& row : data["operators"]) {
    const double share = row["shares"][0];
    EXPECT_LE(share, largest) << row["op"] << ": the largest comes first";
    largest = share;
    sum += share;
    EXPECT_TRUE(row["shares"][1].is_null()) << "nothing of it is timed";
  }
  EXPECT_NEAR(sum, 1.0, 1e-12);
}

}  // namespace
}  // namespace plumb::reporting
