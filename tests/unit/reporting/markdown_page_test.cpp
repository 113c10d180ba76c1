// SPDX-License-Identifier: Apache-2.0
#include "reporting/formats/markdown_page.hpp"

#include <gmock/gmock.h>

#include <sstream>

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
  page.verdict("Reject.", "since", Tone::kBad);
  page.table({text_cell("name"), number_cell("time"), drawing_cell("<svg/>", "change")},
             {{code_cell("a|b"), number_cell("1 s"), drawing_cell("<svg/>", "+2 %")}});
  page.begin_fold("more");
  page.list({"a", "b_c"});
  page.drawing("<svg/>");
  page.end_fold();
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
            "again: ``plumb compare a_b``\n\n");
}

TEST(MarkdownPage, cuts_long_tables_and_says_how_much_is_missing) {
  MarkdownPage page("t");
  page.table({text_cell("n")}, std::vector<PageRow>(62, {text_cell("x")}));
  EXPECT_THAT(text_of(page), HasSubstr("and 37 more: the HTML report has them"));
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

TEST(MarkdownPage, a_part_that_begins_is_ended_even_where_nothing_more_fits) {
  MarkdownPage page("t");
  page.begin_fold("open");
  for (const std::size_t size : {1000U, 10U}) {
    for (int i = 0; i < 100; ++i) {
      page.paragraph(std::string(size, 'x'));
    }
  }
  page.end_fold();
  page.begin_fold("too late");
  page.end_fold();
  const std::string text = text_of(page);
  EXPECT_THAT(text, HasSubstr("</details>"));
  EXPECT_EQ(text.find("</details>"), text.rfind("</details>"));
  EXPECT_THAT(text, Not(HasSubstr("too late")));
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
