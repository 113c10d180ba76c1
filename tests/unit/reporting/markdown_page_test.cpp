// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "reporting/formats/pages.hpp"
#include "tests/unit/reporting/sample_report.hpp"

namespace plumb::reporting {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string text_of(const MarkdownPage& page) {
  std::ostringstream out;
  page.write(out);
  return out.str();
}

TEST(MarkdownPage, writes_every_kind_of_part) {
  MarkdownPage page("A | title");
  page.heading("one");
  page.subheading("two");
  page.paragraph("*three*");
  page.verdict("Reject.", "since", PageCell::Tone::kBad);
  page.table({text_cell("name"), number_cell("time"), drawing_cell("<svg/>", "change")},
             {{code_cell("a|b"), number_cell("1 s"), drawing_cell("<svg/>", "+2 %")}});
  page.begin_fold("more", false);
  page.list({"a", "b_c"});
  page.chart("a chart", 100, "parts", nlohmann::ordered_json::array());
  page.drawing("<svg/>");
  page.end_fold();
  page.table({.head = head_row("#share|instruction"),
              .rows = {{number_cell("5 %"), code_cell("add  `a`")}},
              .caption = "Code",
              .listing = true});
  page.command("again", "plumb compare a_b");
  EXPECT_EQ(text_of(page),
            "## A \\| title\n"
            "\n### one\n\n"
            "\n#### two\n\n"
            "\\*three\\*\n\n"
            "**Reject.** since\n\n"
            "| name | time | change |\n| --- | ---: | --- |\n| ``a b`` | 1 s | +2 % |\n\n"
            "<details><summary>more</summary>\n\n"
            "- a\n- b\\_c\n\n"
            "</details>\n\n"
            "Code\n\n"
            "```text\nshare  instruction\n  5 %  add  'a'\n```\n\n"
            "again: ``plumb compare a_b``\n\n");
}

TEST(MarkdownPage, leaves_out_the_columns_of_pages) {
  MarkdownPage page("t");
  page.table({.head = head_row("name|*#all|+page"),
              .rows = {{text_cell("a"), number_cell("1"), text_cell("b")}}});
  EXPECT_THAT(text_of(page), HasSubstr("| name | all |\n| --- | ---: |\n| a | 1 |\n"));
}

TEST(MarkdownPage, cuts_long_tables_and_says_how_much_is_missing) {
  MarkdownPage page("t");
  page.table({text_cell("n")}, std::vector<PageRow>(62, {text_cell("x")}));
  EXPECT_THAT(text_of(page), HasSubstr("and 37 more: the HTML report has them"));
}

TEST(MarkdownPage, a_whole_table_has_as_many_rows_as_half_of_the_room_holds) {
  PageTable table{.head = head_row("n"), .whole = true};
  table.rows.resize(62, {text_cell("x")});
  MarkdownPage page("t");
  page.table(table);
  EXPECT_THAT(text_of(page), Not(HasSubstr("more: the HTML report")));
  table.rows.resize(20'000, {text_cell("x")});
  page.table(table);
  const std::string text = text_of(page);
  EXPECT_THAT(text, HasSubstr("more: the HTML report has them"));
  EXPECT_GT(text.size(), 25'000U);
  EXPECT_LT(text.size(), 32'000U);
}

TEST(MarkdownPage, fits_a_comment_and_keeps_every_heading) {
  MarkdownPage page("t");
  for (int i = 0; i < 100; ++i) {
    page.paragraph(std::string(1000, 'x'));
  }
  page.heading("the last");
  const std::string text = text_of(page);
  EXPECT_LT(text.size(), 65'536U);
  EXPECT_THAT(text, HasSubstr("### the last"));
  EXPECT_THAT(text, HasSubstr("parts do not fit a comment"));
}

TEST(MarkdownPage, a_fold_that_does_not_fit_is_left_out_as_a_whole) {
  MarkdownPage page("t");
  page.begin_fold("fits", true);
  page.paragraph("short");
  page.end_fold();
  page.begin_fold("too long", false);
  for (const std::size_t size : {1000U, 10U}) {
    for (int i = 0; i < 100; ++i) {
      page.paragraph(std::string(size, 'x'));
    }
  }
  page.end_fold();
  page.begin_fold("fits too", false);
  page.end_fold();
  EXPECT_EQ(text_of(page),
            "## t\n"
            "<details open><summary>fits</summary>\n\nshort\n\n</details>\n\n"
            "<details><summary>fits too</summary>\n\n</details>\n\n"
            "\n1 parts do not fit a comment: the HTML report has them\n");
}

TEST(MarkdownPage, a_fold_that_begins_where_nothing_more_fits_is_left_out) {
  MarkdownPage page("t");
  for (int i = 0; i < 1000; ++i) {
    page.paragraph(std::string(i < 100 ? 1000 : 10, 'x'));
  }
  page.begin_fold("too late", false);
  page.end_fold();
  const std::string text = text_of(page);
  EXPECT_LT(text.size(), 65'536U);
  EXPECT_THAT(text, Not(HasSubstr("details")));
}

TEST(MarkdownPage, hostile_text_stays_in_its_cell) {
  MarkdownPage page(kHostileName);
  page.table({text_cell(kHostileName)}, {{text_cell(kHostileName)}});
  const std::string text = text_of(page);
  EXPECT_TRUE(is_clean_utf8(text));
  EXPECT_THAT(text, Not(HasSubstr("<script")));
  EXPECT_THAT(text, StartsWith("## "));
}

}  // namespace
}  // namespace plumb::reporting
