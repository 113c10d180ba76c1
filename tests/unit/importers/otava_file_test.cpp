// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "harness/importers/result_files.hpp"
#include "tests/unit/importers/import_fault.hpp"

namespace plumb::importers {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

const std::string kFile =
    "time,commit,branch,build,parse,\"load, all\"\n"
    "2021.01.02 3:00:00 +0100,aaa1,main,8,154023,10.25\n"
    "2021.01.01 3:00:00 +0100,aaa0,main,7,138455,\n";

std::string fault(const std::string& text, const std::vector<std::string>& metrics = {}) {
  return test::import_fault([&] { return read_otava(text, 1e-9, metrics); });
}

TEST(OtavaFile, a_line_is_a_run_and_a_column_of_numbers_a_benchmark) {
  const ImportedHistory history = read_otava(kFile, 1e-9, {});
  ASSERT_THAT(history, SizeIs(2));
  EXPECT_EQ(history[0].version, "aaa0") << "in order of time";
  EXPECT_EQ(to_text(*history[0].started), "2021-01-01T02:00:00.000000Z");
  EXPECT_EQ(history[0].facts.at("otava.branch"), "main");
  EXPECT_EQ(history[0].facts.at("otava.build"), "7") << "a number, but no measurement";
  ASSERT_THAT(history[0].benchmarks, SizeIs(1)) << "an empty cell was not measured";
  ASSERT_THAT(history[1].benchmarks, SizeIs(2));
  EXPECT_EQ(history[1].benchmarks[1].name, "load, all");
  ASSERT_THAT(history[1].benchmarks[1].samples, SizeIs(1));
  EXPECT_DOUBLE_EQ(history[1].benchmarks[1].samples[0].count(), 10.25e-9);
}

TEST(OtavaFile, takes_the_columns_that_are_asked_for) {
  const std::vector<std::string> wanted{"parse"};
  const ImportedHistory history = read_otava(kFile, 1.0, wanted);
  ASSERT_THAT(history[1].benchmarks, SizeIs(1));
  EXPECT_EQ(history[1].facts.at("otava.load, all"), "10.25");
  EXPECT_THAT(fault(kFile, {"parsing"}), HasSubstr("no column 'parsing'"));
  EXPECT_THAT(fault(kFile, {"branch"}),
              HasSubstr("line 2, column 'branch': 'main' is not a number"));
}

TEST(OtavaFile, says_where_a_file_is_wrong) {
  EXPECT_EQ(fault(kFile), "taken");
  EXPECT_THAT(fault(""), HasSubstr("not CSV"));
  EXPECT_THAT(fault("time,x\n"), HasSubstr("not CSV"));
  EXPECT_THAT(fault("when,x\n1,2\n"), HasSubstr("no column 'time'"));
  EXPECT_THAT(fault("time,x\nnow,2\n"), HasSubstr("line 2: 'now' is not a time"));
  EXPECT_THAT(fault("time,x\n1600000000,2\n1600000001\n"), HasSubstr("line 3: 1 cells for 2"));
  EXPECT_THAT(fault("time,x\n1600000000,0\n"), HasSubstr("line 2, column 'x': the time"));
  EXPECT_THAT(fault("time,x\n1600000000,-3\n"), HasSubstr("line 2, column 'x': the time"));
  EXPECT_THAT(fault("time,x,x\n1600000000,1,2\n"), HasSubstr("'x' occurs twice"));
  EXPECT_THAT(fault("time,x\n1600000000,a\n"), HasSubstr("no column of numbers"));
  EXPECT_THAT(fault("time,x\n1600000000,nan\n"), HasSubstr("no line has a value"));
  EXPECT_THAT(fault("time,x\n\"1600000000,1\n"), HasSubstr("line 2: a quote is not closed"));
  EXPECT_THAT(fault("time,x\n\"1600000000\"0,1\n"), HasSubstr("text after a closing quote"));
  std::string wide = "time";
  for (int i = 0; i < 10'001; ++i) {
    wide += ",x" + std::to_string(i);
  }
  EXPECT_THAT(fault(wide + "\n"), HasSubstr("more than 10000 columns"));
  std::string lines = "time,x\n";
  for (int i = 0; i < 10'001; ++i) {
    lines += "1600000000,1\n";
  }
  EXPECT_THAT(fault(lines), HasSubstr("line 10002: at most 10000 lines"));
}

}  // namespace
}  // namespace plumb::importers
