// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <sstream>

#include "reporting/formats/pages.hpp"
#include "tests/unit/reporting/sample_report.hpp"

namespace plumb::reporting {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string text_of(const TextPage& page) {
  std::ostringstream out;
  page.write(out);
  return out.str();
}

TEST(TextPage, writes_every_kind_of_part) {
  TextPage page("title");
  page.heading("one");
  page.subheading("two");
  page.paragraph("three");
  page.list({"a", "b"});
  page.verdict("Reject.", "since", PageCell::Tone::kBad);
  page.drawing("<svg/>");
  page.begin_fold("more", false);
  page.table({text_cell("name"), number_cell("time"), drawing_cell("<svg/>", "change")},
             {{code_cell("a"), number_cell("1 s"), drawing_cell("<svg/>", "+2 %")},
              {code_cell("b"), number_cell("10 s"), drawing_cell("<svg/>", "–")}});
  page.end_fold();
  page.command("again", "plumb compare");
  EXPECT_EQ(text_of(page),
            "title\n"
            "\none\n"
            "\ntwo\n"
            "three\n"
            "  a\n  b\n"
            "\nReject. since\n"
            "\nmore\n"
            "  name  time  change\n"
            "  a      1 s  +2 %\n"
            "  b     10 s  –\n"
            "\nagain\n  $ plumb compare\n");
}

TEST(TextPage, columns_with_long_cells_come_last) {
  const std::string longer(60, 'k');
  const std::string longest(80, 'w');
  TextPage page;
  page.table({text_cell("why"), text_cell("key"), number_cell("time")},
             {{text_cell(longest), code_cell(longer), number_cell("1 s")}});
  EXPECT_THAT(text_of(page), HasSubstr(" 1 s  " + longer + "  " + longest + "\n"));
}

TEST(TextPage, columns_that_are_in_order_stay_where_they_are) {
  const std::string longer(60, 'k');
  TextPage page;
  page.table({.head = {text_cell("key"), number_cell("time")},
              .rows = {{text_cell(longer), number_cell("1 s")}},
              .in_order = true});
  EXPECT_THAT(text_of(page), HasSubstr(longer + "   1 s\n"));
}

TEST(TextPage, leaves_out_the_columns_of_nearer_places) {
  const PageTable table{.head = head_row("name|*#all|+page"),
                        .rows = {{text_cell("a"), number_cell("1"), text_cell("b")}}};
  TextPage terminal;
  TextPage text(Extent::kText);
  terminal.table(table);
  text.table(table);
  EXPECT_EQ(text_of(terminal), "name\na\n");
  EXPECT_EQ(text_of(text), "name  all\na       1\n");
}

TEST(TextPage, hostile_text_stays_on_its_line) {
  TextPage page(kHostileName);
  page.heading(kHostileName);
  page.paragraph(kHostileName);
  page.list({kHostileName});
  page.command(kHostileName, kHostileName);
  page.table({text_cell(kHostileName)}, {{code_cell(kHostileName)}});
  const std::string text = text_of(page);
  EXPECT_TRUE(is_clean_utf8(text));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 9);
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace plumb::reporting
