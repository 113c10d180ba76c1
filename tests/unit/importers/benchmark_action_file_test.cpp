// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "harness/importers/result_files.hpp"
#include "tests/unit/importers/import_fault.hpp"

namespace plumb::importers {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

std::string entry(const std::string& commit, const std::string& date, const std::string& benches) {
  return R"({"commit":{"id":")" + commit + R"(","message":"x"},"date":)" + date +
         R"(,"tool":"googlecpp","benches":[)" + benches + "]}";
}

std::string bench(const std::string& name, const std::string& value, const std::string& unit) {
  return R"({"name":")" + name + R"(","value":)" + value + R"(,"unit":")" + unit +
         R"(","range":"± 2","extra":"iterations: 9"})";
}

std::string script(const std::string& entries) {
  return "window.BENCHMARK_DATA = {\"lastUpdate\":1,\"repoUrl\":\"\",\"entries\":{" + entries +
         "}};\n";
}

std::string fault(const std::string& text) {
  return test::import_fault([&] { return read_benchmark_action(text); });
}

const std::string kOne = "\"C++\":[" +
                         entry("c2", "1600000002000", bench("sum", "12.5", "ns/iter")) + "," +
                         entry("c1",
                               "1600000001000",
                               bench("sum", "2", "ms") + "," + bench("sum", "4", "ms") + "," +
                                   bench("rate", "9", "iter/sec")) +
                         "]";

TEST(BenchmarkActionFile, an_entry_is_a_run) {
  const ImportedHistory history = read_benchmark_action(script(kOne));
  ASSERT_THAT(history, SizeIs(2));
  EXPECT_EQ(history[0].version, "c1") << "in order of time";
  EXPECT_EQ(to_text(*history[0].started), "2020-09-13T12:26:41.000000Z");
  ASSERT_THAT(history[0].benchmarks, SizeIs(1));
  EXPECT_THAT(history[0].benchmarks[0].samples, SizeIs(2)) << "the same name is a repetition";
  EXPECT_EQ(history[0].left_out, 1U) << "no time";
  EXPECT_DOUBLE_EQ(history[1].benchmarks[0].samples[0].count(), 12.5e-9);
  EXPECT_EQ(history[1].facts.at("benchmark_action.tool"), "googlecpp");
}

TEST(BenchmarkActionFile, suites_of_one_commit_are_one_run) {
  const std::string json = R"({"entries":{"A":[)" +
                           entry("c1", "1600000001000", bench("x", "1", "s")) + R"(],"B":[)" +
                           entry("c1", "1600000009000", bench("x", "2", "µs/op")) + "]}}";
  const ImportedHistory history = read_benchmark_action(json);
  ASSERT_THAT(history, SizeIs(1));
  ASSERT_THAT(history[0].benchmarks, SizeIs(2));
  EXPECT_EQ(history[0].benchmarks[0].name, "A/x");
  EXPECT_DOUBLE_EQ(history[0].benchmarks[1].samples[0].count(), 2e-6);
  EXPECT_EQ(to_text(*history[0].started), "2020-09-13T12:26:41.000000Z") << "the first";
}

TEST(BenchmarkActionFile, says_where_a_file_is_wrong) {
  EXPECT_EQ(fault(script(kOne)), "taken");
  EXPECT_THAT(fault(""), HasSubstr("not JSON"));
  EXPECT_THAT(fault("window.BENCHMARK_DATA {}"), HasSubstr("not assigned"));
  EXPECT_THAT(fault("{}"), HasSubstr("'entries' is missing"));
  EXPECT_THAT(fault(R"({"entries":{"A":3}})"), HasSubstr("'A' is not an array"));
  EXPECT_THAT(fault(R"({"entries":{}})"), HasSubstr("none of 0 values"));
  EXPECT_THAT(fault(script("\"A\":[" + entry("c", "1", bench("r", "9", "MB/s")) + "]")),
              HasSubstr("none of 1 values has a unit of time"));
  EXPECT_THAT(fault(script("\"A\":[" + entry("c", "1", bench("r", "0", "ns")) + "]")),
              HasSubstr("entries/A/0: the time"));
  EXPECT_THAT(fault(script("\"A\":[" + entry("c", "-1", "") + "]")),
              HasSubstr("entries/A/0: field 'date'"));
  EXPECT_THAT(fault(script(R"("A":[{"date":1,"benches":[]}])")), HasSubstr("'commit' is missing"));
}

}  // namespace
}  // namespace plumb::importers
