// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <sstream>

#include "reporting/formats/pages.hpp"
#include "tests/unit/reporting/sample_report.hpp"

namespace plumb::reporting {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string text_of(const ChartPage& page) {
  std::ostringstream out;
  page.write(out);
  return out.str();
}

TEST(ChartPage, writes_tables_that_a_script_can_sort_and_filter) {
  PageTable table{.head = head_row("layer|#time"), .caption = "Steps", .filter = "filter steps"};
  table.row() << key_cell("v1:x") << Seconds(0.25);
  table.row() << "none" << std::optional<Seconds>();
  ChartPage page("A <title>");
  page.begin_fold("more & more", true);
  page.table(table);
  page.end_fold();
  const std::string text = text_of(page);
  EXPECT_THAT(text, HasSubstr("<title>A &lt;title&gt;</title>"));
  EXPECT_THAT(text,
              HasSubstr("<details open><summary>more &amp; more</summary>\n"
                        "<p class=\"caption\">Steps</p>\n"
                        "<div class=\"scroll layers\" data-filter=\"filter steps\">"
                        "<table aria-label=\"Steps\"><thead><tr><th>layer</th>"
                        "<th class=\"number\">time</th></tr></thead><tbody>\n"
                        "<tr><td><div class=\"key\"><code tabindex=\"0\">v1:x</code></div></td>"
                        "<td class=\"number\" data-value=\"0.25\">250.0 ms</td></tr>\n"
                        "<tr><td>none</td><td class=\"number\">–</td></tr>\n"
                        "</tbody></table></div>\n</details>\n"));
}

TEST(ChartPage, keeps_the_data_of_charts_in_their_order) {
  ChartPage page("t");
  page.chart("first", 100, "parts", {{"a", 1}});
  page.paragraph("between");
  page.chart("second", 0, "lanes", nlohmann::ordered_json::array());
  const std::string text = text_of(page);
  EXPECT_THAT(text,
              HasSubstr("<div class=\"chart\" data-chart=\"0\"></div>\n"
                        "<p class=\"quiet wide\">between</p>\n"
                        "<div class=\"chart\" data-chart=\"1\"></div>\n"));
  EXPECT_EQ(data_of(text),
            R"([{"drawing":"parts","label":"first","height":100,"data":{"a":1}},)"
            R"({"drawing":"lanes","label":"second","height":0,"data":[]}])");
}

TEST(ChartPage, no_part_lets_a_hostile_text_out) {
  PageTable table{.head = {text_cell(kHostileName)},
                  .caption = kHostileName,
                  .filter = kHostileName,
                  .listing = true};
  table.rows = {{code_cell(kHostileName)}, {key_cell(kHostileName)}, {text_cell(kHostileName)}};
  ChartPage page(kHostileName);
  page.begin_fold(kHostileName, false);
  page.list({kHostileName});
  page.verdict(kHostileName, kHostileName, PageCell::Tone::kBad);
  page.table(table);
  page.chart(kHostileName, 1, "parts", kHostileName);
  page.end_fold();
  const std::string text = text_of(page);
  EXPECT_THAT(text, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(text, Not(HasSubstr("alert(1)</script>")));
  EXPECT_EQ(data_of(text).find_first_of("<>&\n\x1b"), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(data_of(text)).size(), 1U);
}

}  // namespace
}  // namespace plumb::reporting
