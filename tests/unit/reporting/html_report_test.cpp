// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "tests/support/sample_profile.hpp"
#include "tests/unit/reporting/sample_report.hpp"

namespace plumb::reporting {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::size_t occurrences(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + what.size())) {
    ++count;
  }
  return count;
}

/// Returns what a reader without scripts sees: the text of a page, with a bar for each element.
std::string read(const std::string& page) {
  const std::size_t begin = page.find("<main");
  std::string text;
  bool inside = false;
  for (const char c : page.substr(begin, page.find("</main>") - begin)) {
    inside = inside || c == '<';
    if (!inside) {
      text += c;
    } else if (c == '>') {
      inside = false;
      text += text.ends_with('|') ? "" : "|";
    }
  }
  return text;
}

/// Returns the data of the charts of one drawing.
std::vector<nlohmann::json> charts(const std::string& page, const std::string& drawing) {
  std::vector<nlohmann::json> found;
  for (const nlohmann::json& chart : nlohmann::json::parse(data_of(page))) {
    if (chart["drawing"] == drawing) {
      found.push_back(chart["data"]);
    }
  }
  return found;
}

TEST(HtmlReport, can_be_read_without_a_script) {
  const std::string text = read(written(sample_report(), ".html"));
  EXPECT_THAT(text, HasSubstr("|01JFKD2M4N5P6Q7R8S9T0VWXYZ|default|"));
  EXPECT_THAT(text, HasSubstr("|1 of 1 models are completely measured.| 3 rows measured"));
  EXPECT_THAT(text,
              HasSubstr("|tiny, batch 1, f32|4 of 4|250.0 µs|3.500 ms|3.500 ms|3.500 ms|4.000 ms|"
                        "–|5.000 ms|14.00×|"));
  EXPECT_THAT(text, HasSubstr("100.0 GFLOP/s in f32, 10.00 GB/s from memory"));
  EXPECT_THAT(text, HasSubstr("|hardware|any|250.0 µs ± 1.0 %|yes|24 h|"));
  EXPECT_THAT(text, HasSubstr("3.500 ms of 3.500 ms (100.0 %) lie on it."));
  EXPECT_THAT(text, HasSubstr("|best_variant|700.0 µs|558.6 µs … 841.4 µs|3.500 ms ± 2.9 %|"));
  EXPECT_THAT(text, HasSubstr("|bf16: not predicted: no bf16 rows in this run|"));
  EXPECT_THAT(
      text, HasSubstr("|best_variant|conv1|2.000 ms|1.300 ms|700.0 µs|direct → winograd|v1:conv;"));
  EXPECT_THAT(text, HasSubstr("|conv1|Conv|2.000 ms|1.0 %|30|225.8 k|–|–|–|–|–|yes|impl=fast"));
  EXPECT_LT(text.find("|conv1|Conv|"), text.find("|product|MatMul|"));
  EXPECT_LT(text.find("|product|MatMul|"), text.find("|relu1|Relu|")) << "the slowest comes first";
  EXPECT_THAT(text, Not(HasSubstr("|flat|Flatten|"))) << "it costs nothing";
  EXPECT_THAT(text, HasSubstr("|cpu.model|Sample CPU|"));
  EXPECT_THAT(text, HasSubstr("|kernel|6.1|"));
}

TEST(HtmlReport, draws_steps_when_their_inputs_are_ready) {
  const auto lanes = charts(written(sample_report(), ".html"), "lanes");
  ASSERT_EQ(lanes.size(), 1U);
  const auto& boxes = lanes[0]["boxes"];
  ASSERT_EQ(boxes.size(), 4U);
  EXPECT_EQ(boxes[0]["lines"][0], "conv1");
  EXPECT_EQ(boxes[0]["begin"], 0.0);
  EXPECT_EQ(boxes[0]["end"], 2e-3);
  EXPECT_EQ(boxes[0]["state"], "critical");
  EXPECT_EQ(boxes[1]["begin"], 2e-3);
  EXPECT_EQ(boxes[2]["lines"][1], "no work");
  EXPECT_EQ(boxes[3]["begin"], 2.5e-3);
}

TEST(HtmlReport, draws_layers_under_the_roofline) {
  const auto roofline = charts(written(sample_report(), ".html"), "roofline");
  ASSERT_EQ(roofline.size(), 1U);
  const auto& point = roofline[0]["models"][0]["points"][0];
  const double flops = 2.0 * 14 * 14 * 16 * 8 * 9;
  EXPECT_EQ(point["x"], flops / (4.0 * (8 * 14 * 14 + 16 * 8 * 3 * 3 + 16 * 14 * 14)));
  EXPECT_DOUBLE_EQ(point["y"], flops / 2e-3 / 1e9);
  EXPECT_EQ(point["text"], "tiny, batch 1, f32, conv1: 225.8 MFLOP/s, 2.000 ms");
  EXPECT_EQ(roofline[0]["ceilings"][1]["y"], 100.0);
}

TEST(HtmlReport, shows_the_profile_of_a_model) {
  analysis::RunReport report = sample_report();
  report.models[0].profile = test::stored_profile("01J").profile;
  report.models[0].profile->listings[0].instructions[0].text = "<script>evil";
  const std::string page = written(report, ".html");
  EXPECT_EQ(page.find("<script>evil"), std::string::npos);
  const std::string text = read(page);
  EXPECT_THAT(text, HasSubstr("Samples of executions in the mode fusion"));
  EXPECT_THAT(text, HasSubstr("|jit_brgemm_kernel_t, generated, most in conv1+relu1"));
  EXPECT_THAT(text, HasSubstr("|11.8 %|8.8–15.6|40|4|&lt;script&gt;evil|"));
  EXPECT_THAT(text, HasSubstr("|no instructions: &apos;/usr/lib/libc.so.6&apos; has no symbol"));
  EXPECT_THAT(page, HasSubstr("<td class=\"number hot\">88.2 %</td>"));
  const auto flames = charts(page, "flames");
  ASSERT_EQ(flames.size(), 1U);
  EXPECT_EQ(flames[0][1], nlohmann::json({"conv1+relu1", 0, 340, 1, "#f2b366"}));
  report.models[0].profile = {};
  EXPECT_TRUE(charts(written(report, ".html"), "flames").empty());
  EXPECT_THAT(read(written(report, ".html")), Not(HasSubstr("Hottest functions")));
}

TEST(HtmlReport, has_the_address_of_the_commit) {
  analysis::RunReport report = sample_report();
  EXPECT_THAT(read(written(report, ".html")), Not(HasSubstr("|commit|")));
  report.run.header.environment.facts["label.commit"] = "4f2a";
  report.commits = results::CommitLink("https://example.org/{commit}");
  const std::string page = written(report, ".html");
  EXPECT_THAT(page, HasSubstr("<a href=\"https://example.org/4f2a\">4f2a</a>"));
  EXPECT_THAT(page, HasSubstr("<meta name=\"referrer\" content=\"no-referrer\">"));
}

TEST(HtmlReport, says_of_a_step_what_the_backend_says_of_its_row) {
  analysis::RunReport report = sample_report();
  EXPECT_THAT(read(written(report, ".html")), Not(HasSubstr("|executed by|")));
  results::StoredMeasurement row;
  row.row = 77;
  row.measurement.attributes = {{"engine", "62"}, {"plan", std::string(1793, 'x')}};
  row.measurement.readings = {{"power_watts", {310.0, 309.0, 312.0, 3}},
                              {"temperature_celsius", {61.0, 61.0, 61.0, 1}}};
  report.rows.push_back(row);
  report.models[0].bounds.cover[0].time->row = 77;
  report.models[0].bounds.cover[1].time->row = 78;
  const std::string text = read(written(report, ".html"));
  EXPECT_EQ(occurrences(text,
                        "engine 62 · plan (1793 bytes) · power_watts 310 (309 to 312) · "
                        "temperature_celsius 61|"),
            1U);
  EXPECT_THAT(text, HasSubstr("fn=relu;parameters=[]|–|"));
}

TEST(HtmlReport, says_what_the_last_wave_of_a_step_leaves_empty) {
  analysis::RunReport report = sample_report();
  EXPECT_THAT(read(written(report, ".html")), Not(HasSubstr("|idle in last wave|")));
  analysis::ModelLimits::Step step;
  step.key = report.models[0].bounds.cover[0].key;
  step.waves = 1.25;
  report.models[0].limits.steps = {step};
  const std::string text = read(written(report, ".html"));
  EXPECT_THAT(text, HasSubstr("|idle in last wave|"));
  EXPECT_THAT(text, HasSubstr("|75 %|"));
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
  const auto name = charts(page, "lanes")[0]["boxes"][0]["lines"][0];
  EXPECT_THAT(name.get<std::string>(),
              ::testing::StartsWith("</script><script>alert(1)</script>-->]]>\"'|`"));
  EXPECT_THAT(name.get<std::string>(), ::testing::EndsWith("@@DATA@@"));
  const std::string tables = read(page);
  EXPECT_THAT(tables,
              HasSubstr("|&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;--&gt;]]&gt;"));
  EXPECT_TRUE(is_clean_utf8(tables));
  EXPECT_EQ(tables.find("\xe2\x80\xa8"), std::string::npos);
  EXPECT_EQ(tables.find('"'), std::string::npos);
}

TEST(HtmlReport, shows_what_is_not_known_as_a_dash) {
  const std::string page = written(hostile_report(), ".html");
  const std::string text = read(page);
  EXPECT_EQ(charts(page, "lanes")[0]["boxes"][3]["state"], "missing");
  EXPECT_EQ(charts(page, "lanes")[0]["boxes"][3]["lines"][1], "not measured");
  EXPECT_THAT(text, HasSubstr("|library|plain|3.500 ms ± 1.0 %|NO|"));
  EXPECT_THAT(text, HasSubstr("|2 of 4|250.0 µs (incomplete)|"));
  EXPECT_THAT(text, HasSubstr("|crashed|"));
  EXPECT_TRUE(charts(page, "glances")[0]["series"][0]["values"][0].is_null()) << "incomplete";
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
  const auto parts = charts(written(report, ".html"), "parts");
  ASSERT_EQ(parts.size(), 2U) << "of operators and of limits";
  double sum = 0.0;
  double largest = 100.0;
  ASSERT_FALSE(parts[0]["series"].empty());
  for (const auto& row : parts[0]["series"]) {
    const double share = row["values"][0];
    EXPECT_LE(share, largest) << row["label"] << ": the largest comes first";
    largest = share;
    sum += share;
    EXPECT_TRUE(row["values"][1].is_null()) << "nothing of it is timed";
  }
  EXPECT_NEAR(sum, 100.0, 1e-10);
}

}  // namespace
}  // namespace plumb::reporting
