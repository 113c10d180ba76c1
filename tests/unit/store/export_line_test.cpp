// SPDX-License-Identifier: Apache-2.0
#include "harness/store/export_line.hpp"

#include <gtest/gtest.h>

#include "harness/base/error.hpp"
#include "tests/support/result_rows.hpp"
#include "tests/support/sample_profile.hpp"

namespace plumb::store {
namespace {

TEST(ExportLine, short_lines_are_written_as_documented) {
  EXPECT_EQ(to_json(ExportLine(ExportLines::Header{})),
            R"({"type":"plumbline_export","format":2})");
  EXPECT_EQ(to_json(ExportLine(ExportLines::End{42})), R"({"type":"end","lines":42})");
  EXPECT_EQ(to_json(ExportLine(ExportLines::Reuse{"01J", {{"01H", 7}, {"01H", 9}}})),
            R"({"rows":[["01H",7],["01H",9]],"run":"01J","type":"reused"})");
}

TEST(ExportLine, every_kind_of_line_reads_back) {
  results::RunRecord record;
  record.header = test::header("01J");
  record.state = results::RunState::kInterrupted;
  record.finished = test::at(5);
  record.tags = {"a\"b"};
  const std::vector<ExportLine> lines{
      ExportLines::Header{},
      record,
      ExportLines::Row{{"01J", 0xFFFFFFFF}, -1, test::row(test::key(3), 4)},
      ExportLines::Reuse{"01J", {{"01H", 0}}},
      ExportLines::Derived{{"01J", "bound", "s", "1", {}, "{\"a\":\"\\n\"}", test::at(1)},
                           {{"01H", 2}}},
      test::stored_profile("01J"),
      ExportLines::End{5}};
  for (const ExportLine& line : lines) {
    const std::string text = to_json(line);
    EXPECT_EQ(text.find('\n'), std::string::npos);
    const ExportLine back = parse_export_line(text);
    EXPECT_EQ(back.index(), line.index());
    EXPECT_EQ(to_json(back), text);
  }
}

TEST(ExportLine, lines_that_are_not_of_an_export_are_refused) {
  for (const char* const bad :
       {"",
        "{}",
        "[]",
        "null",
        R"({"type":5})",
        R"({"type":"end"})",
        R"({"type":"end","lines":-1})",
        R"({"type":"end","lines":99999999999999999999})",
        R"({"type":"plumbline_export","format":9})",
        R"({"type":"reused","run":"a","rows":[["b",4294967296]]})",
        R"({"type":"reused","run":"a","rows":[["b",1.5]]})",
        R"({"type":"reused","run":"a","rows":[["b"]]})",
        R"({"type":"profile","run":"a","subject":"m","taken":"2026-01-01T00:00:00Z","profile":5})",
        R"({"type":"row","run":"a","position":0,"checksum":"xyz","row":{}})",
        R"({"type":"row","run":"a","position":0,"checksum":"0123456789abcdef","row":5})",
        R"({"type":"run","state":"running","finished":null,"tags":[],"run":[]})"}) {
    EXPECT_THROW((void)parse_export_line(bad), Error) << bad;
  }
}

}  // namespace
}  // namespace plumb::store
