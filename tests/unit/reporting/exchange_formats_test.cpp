// SPDX-License-Identifier: Apache-2.0
#include "reporting/exchange/exchange_formats.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/result_rows.hpp"

namespace plumb::reporting {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

/// Makes three runs, the last two of one commit. The first measured one of the two series.
analysis::SuiteHistory sample_history() {
  analysis::SuiteHistory history;
  for (const auto& [id, second] : {std::pair("R1", 0.0), {"R2", 1.0}, {"R3", 2.0}}) {
    results::RunRecord& run = history.runs.emplace_back();
    run.header = test::header(id, second);
    run.header.stack = "a/b";
    run.header.environment.facts["version"] = second == 0.0 ? "" : "c0ffee1234";
  }
  history.series = {
      {"layers/external:mine:sum, \"all\"", {{"R1", 0.5}, {"R2", 0.25}, {"R3", 0.125}}},
      {"models/lenet|1|f32/end_to_end/plain/single_stream", {{"R2", 2.0}, {"R3", 4.0}}}};
  return history;
}

TEST(ExchangeFormats, otava_has_a_line_for_each_run) {
  std::ostringstream out;
  write_otava(sample_history(), out);
  EXPECT_EQ(
      out.str(),
      "time,run,version,\"sum, \"\"all\"\"\",models/lenet|1|f32/end_to_end/plain/single_stream\n"
      "2026-01-01T00:00:00.000000Z,R1,,0.5,\n"
      "2026-01-01T00:00:01.000000Z,R2,c0ffee1234,0.25,2\n"
      "2026-01-01T00:00:02.000000Z,R3,c0ffee1234,0.125,4\n");
}

TEST(ExchangeFormats, benchmark_action_has_an_entry_for_each_run) {
  std::ostringstream out;
  write_benchmark_action(sample_history(), out);
  const std::string text = out.str();
  ASSERT_TRUE(text.starts_with("window.BENCHMARK_DATA = {"));
  const auto document = nlohmann::json::parse(text.substr(text.find('{')));
  const auto& entries = document["entries"]["quick"];
  ASSERT_EQ(entries.size(), 3U);
  EXPECT_EQ(entries[0]["commit"]["id"], "R1") << "without a version, the run's id";
  EXPECT_EQ(entries[0]["benches"].size(), 1U) << "what was not measured is absent";
  EXPECT_EQ(entries[2]["commit"]["id"], "c0ffee1234");
  EXPECT_EQ(entries[2]["benches"][0]["value"], 0.125);
  EXPECT_EQ(entries[2]["tool"], "customSmallerIsBetter");
}

TEST(ExchangeFormats, asv_has_a_file_for_each_commit) {
  const std::map<std::string, std::string> files = asv_files(sample_history());
  ASSERT_THAT(files, SizeIs(4));
  std::vector<std::string> paths;
  for (const auto& file : files) {
    EXPECT_THAT(file.first, Not(HasSubstr("..")));
    paths.push_back(file.first);
  }
  EXPECT_EQ(paths[0], "benchmarks.json");
  EXPECT_THAT(paths[1], EndsWith("/R1-onednn-a-b.json"));
  EXPECT_THAT(paths[2], EndsWith("/c0ffee12-onednn-a-b.json"));
  EXPECT_THAT(paths[3], EndsWith("/machine.json"));
  const auto results = nlohmann::json::parse(files.at(paths[2]));
  EXPECT_EQ(results["commit_hash"], "c0ffee1234");
  EXPECT_EQ(results["results"]["time_sum, \"all\""][0], nlohmann::json::array({0.125}))
      << "the last run of a commit";
  EXPECT_EQ(nlohmann::json::parse(files.at("benchmarks.json"))["time_sum, \"all\""]["unit"],
            "seconds");
}

TEST(ExchangeFormats, name_an_imported_benchmark_as_its_tool_does) {
  EXPECT_EQ(exchanged_name("layers/external:mine:a:b"), "a:b");
  for (const char* const series : {"layers/v1:relu;in=f32[8]", "capability/external:mine:x"}) {
    EXPECT_EQ(exchanged_name(series), series);
  }
}

}  // namespace
}  // namespace plumb::reporting
