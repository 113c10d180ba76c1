// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "harness/importers/result_files.hpp"
#include "tests/unit/importers/import_fault.hpp"

namespace plumb::importers {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::string file(const std::string& results) {
  return R"({"commit_hash":"c0ffee","env_name":"py3.11","date":1600000000000,"python":"3.11",
    "params":{"machine":"box","num_cpu":"8","cpu":"Some CPU","os":"Linux"},
    "result_columns":["result","params","version","started_at","duration","stats_ci_99_a",
      "stats_ci_99_b","stats_q_25","stats_q_75","stats_number","stats_repeat","samples","profile"],
    "results":{)" +
         results + R"(},"durations":{},"version":2})";
}

std::string fault(const std::string& text) {
  return test::import_fault([&] { return read_asv(text); });
}

TEST(AsvFile, reads_medians_with_their_interval_and_samples) {
  const ImportedResults results = read_asv(
      file(R"("suite.time_sum":[[0.002],[],"1",1,1,[0.0019],[0.0022],[0.0019],[0.0021],[50],[10]],
              "suite.Kept.time_all":[[0.002],[],"1",1,1,[0.001],[0.003],[0],[0],[5],[2],[[0.001,0.003]]],
              "suite.time_alone":[[0.5],[],"1"],
              "suite.track_size":[[12],[],"1"])"));
  EXPECT_EQ(results.version, "c0ffee");
  EXPECT_EQ(to_text(*results.started), "2020-09-13T12:26:40.000000Z");
  EXPECT_EQ(results.identity, (results::Facts{{"cpu.count", "8"}, {"host", "box"}}));
  EXPECT_EQ(results.facts.at("asv.env_name"), "py3.11");
  EXPECT_EQ(results.left_out, 1U);
  ASSERT_THAT(results.benchmarks, SizeIs(3));
  const ImportedResults::Benchmark& kept = results.benchmarks[0];
  EXPECT_EQ(kept.name, "suite.Kept.time_all");
  EXPECT_THAT(kept.samples, ElementsAre(Seconds(0.001), Seconds(0.003)));
  EXPECT_EQ(kept.repetitions, 5);
  EXPECT_FALSE(results.benchmarks[1].statistics->interval.has_value()) << "a median alone";
  const ImportedResults::Benchmark::Statistics& sum = *results.benchmarks[2].statistics;
  EXPECT_EQ(sum.n, 10U);
  EXPECT_DOUBLE_EQ(sum.mean.count(), 0.002);
  EXPECT_DOUBLE_EQ(sum.interval->high.count(), 0.0022);
}

TEST(AsvFile, a_combination_of_parameters_is_a_benchmark) {
  const ImportedResults results = read_asv(file(
      R"("s.time_x":[[1,null,NaN,4],[["'a'","'b'"],["1","2"]],"1",1,1,[NaN,null,null,-Infinity]])"));
  ASSERT_THAT(results.benchmarks, SizeIs(4));
  EXPECT_EQ(results.benchmarks[0].name, "s.time_x('a', 1)");
  EXPECT_EQ(results.benchmarks[3].name, "s.time_x('b', 2)");
  EXPECT_EQ(results.benchmarks[1].outcome.kind, results::Outcome::Kind::kUnsupported);
  EXPECT_EQ(results.benchmarks[2].outcome.kind, results::Outcome::Kind::kSkipped);
  EXPECT_DOUBLE_EQ(results.benchmarks[3].statistics->mean.count(), 4.0);
}

TEST(AsvFile, says_where_a_file_is_wrong) {
  EXPECT_EQ(fault(file(R"("time_x":[[1],[]])")), "taken");
  EXPECT_THAT(fault("{}"), HasSubstr("'result_columns' is missing"));
  EXPECT_THAT(fault(file(R"("track_x":[[1],[]])")), HasSubstr("none of 1 values is a time"));
  EXPECT_THAT(fault(file(R"("time_x":[[1,2],[]])")),
              HasSubstr("results/time_x: its result is not an array of 1 values"));
  EXPECT_THAT(fault(file(R"("time_x":[[0],[]])")), HasSubstr("results/time_x: the time"));
  EXPECT_THAT(fault(file(R"("time_x":[["1"],[]])")), HasSubstr("its result is not a number"));
  EXPECT_THAT(fault(file(R"("time_x":3)")), HasSubstr("its columns are not an array"));
  EXPECT_THAT(fault(file(R"("time_x":[[1],[],"1",1,1,[],[],[],[],[1],[1],[[1,null]]])")),
              HasSubstr("results/time_x: the time"));
  std::string many = "[";
  for (int i = 0; i < 20; ++i) {
    many += std::string(i == 0 ? "" : ",") + R"(["1","2"])";
  }
  EXPECT_THAT(fault(file(R"("time_x":[null,)" + many + "]]")), HasSubstr("100000 combinations"));
}

}  // namespace
}  // namespace plumb::importers
