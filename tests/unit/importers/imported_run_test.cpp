// SPDX-License-Identifier: Apache-2.0
#include "harness/importers/imported_run.hpp"

#include <gmock/gmock.h>

#include "harness/base/error.hpp"

namespace plumb::importers {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

ImportedResults process(const std::string& benchmark, std::vector<double> seconds) {
  ImportedResults results;
  results.identity = {{"host", "ci"}};
  ImportedResults::Benchmark& one = results.benchmarks.emplace_back();
  one.name = benchmark;
  for (const double time : seconds) {
    one.samples.emplace_back(time);
  }
  return results;
}

ImportedResults::Run run_of(const std::vector<ImportedResults>& processes,
                            const ImportedResults::Run::Name& name) {
  return make_imported_run(
      name, processes, std::vector<std::string>(processes.size(), "a.json"), Timestamp{});
}

const ImportedResults::Run::Name kName{
    .format = "nvbench", .suite = "mine", .version = "v2", .system = "", .started = {}};

std::string fault(const std::vector<ImportedResults>& processes,
                  const ImportedResults::Run::Name& name = kName) {
  try {
    static_cast<void>(run_of(processes, name));
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kUser);
    return error.what();
  }
  return "taken";
}

TEST(ImportedRun, has_a_row_for_each_benchmark_and_process) {
  const ImportedResults::Run run =
      run_of({process("a", {1e-3, 3e-3, 2e-3}), process("a", {4e-3})}, kName);
  ASSERT_THAT(run.rows, SizeIs(2));
  EXPECT_EQ(run.rows[0].key.text, "external:mine:a");
  EXPECT_DOUBLE_EQ(run.rows[0].summary.median.count(), 2e-3);
  EXPECT_EQ(run.rows[1].process, 1);
  EXPECT_TRUE(run.rows[1].library_choice) << "what a user gets";
  EXPECT_EQ(run.header.environment.facts.at("version"), "v2");
  EXPECT_EQ(run.header.environment.identity.at("format"), "nvbench");
  const ImportedResults::Run other = run_of({process("b", {1, 2})}, kName);
  EXPECT_EQ(run.header.suite_hash, other.header.suite_hash) << "a benchmark may come or go";
}

TEST(ImportedRun, sums_up_what_is_known_where_samples_were_not_kept) {
  ImportedResults results = process("a", {});
  results.benchmarks[0].statistics = {
      .n = 100, .mean = Seconds(2.0), .deviation = Seconds(0.1), .min = {}};
  const ImportedResults::Run run = run_of({results}, kName);
  const measure::SampleSummary& summary = run.rows[0].summary;
  EXPECT_EQ(run.rows[0].variant, "external;statistic=mean");
  EXPECT_NEAR(summary.interval.low.count(), 2.0 - 1.984 * 0.01, 1e-4) << "Student, 99 degrees";
  EXPECT_NEAR(summary.interval.high.count(), 2.0 + 1.984 * 0.01, 1e-4);
  EXPECT_TRUE(run.rows[0].samples.empty());
  EXPECT_FALSE(summary.min_has_company);
}

TEST(ImportedRun, one_sample_has_no_interval) {
  const ImportedResults::Run run = run_of({process("a", {2.0})}, kName);
  EXPECT_FALSE(measure::has_interval(run.rows.at(0).summary));
  EXPECT_TRUE(measure::has_interval(run_of({process("a", {2.0, 2.0})}, kName).rows.at(0).summary));
  ImportedResults mean = process("a", {});
  mean.benchmarks[0].statistics = {.n = 100, .mean = Seconds(2.0), .deviation = {}, .min = {}};
  const results::Measurement row = run_of({mean}, kName).rows.at(0);
  EXPECT_FALSE(measure::has_interval(row.summary)) << "a mean alone shows no noise";
  EXPECT_EQ(row.repetitions, 100) << "one sample of a hundred executions";
}

TEST(ImportedRun, files_may_hold_different_benchmarks) {
  const ImportedResults::Run run =
      run_of({process("a", {1.0, 1.0}), process("b", {2.0, 2.0}), process("a", {1.0})}, kName);
  ASSERT_THAT(run.rows, SizeIs(3));
  EXPECT_EQ(run.rows[1].key.text, "external:mine:b");
  EXPECT_EQ(run.rows[2].process, 2);
}

TEST(ImportedRun, refuses_a_file_in_which_all_was_skipped) {
  ImportedResults results = process("a", {});
  results.benchmarks[0].outcome = {results::Outcome::Kind::kSkipped, "no AVX"};
  EXPECT_THAT(fault({results}), HasSubstr("no benchmark of 'a.json' was measured: all 1 were"));
  EXPECT_EQ(fault({results, process("b", {1.0})}), "taken");
  results.benchmarks[0].outcome.kind = results::Outcome::Kind::kUnsupported;
  EXPECT_EQ(fault({results}), "taken") << "that all fail is a result";
}

TEST(ImportedRun, asks_for_the_time_where_the_file_has_none_that_can_be_read) {
  ImportedResults results = process("a", {1.0});
  results.unread_date = "yesterday";
  EXPECT_THAT(fault({results}), HasSubstr("'yesterday' is not a time: say when it was measured"));
  ImportedResults::Run::Name name = kName;
  name.started = Timestamp{};
  EXPECT_EQ(fault({results}, name), "taken");
}

TEST(ImportedRun, refuses_what_makes_no_run) {
  EXPECT_EQ(fault({process("a", {1.0, 1.0})}), "taken");
  EXPECT_EQ(fault({process("a", {1.0}), process("a", {1.0})}), "taken") << "two processes";
  ImportedResults elsewhere = process("a", {1.0});
  elsewhere.identity["host"] = "other";
  EXPECT_THAT(fault({process("a", {1.0}), elsewhere}), HasSubstr("different machines"));
  ImportedResults::Run::Name name = kName;
  name.suite = "a:b";
  EXPECT_THAT(fault({process("a", {1.0, 1.0})}, name), HasSubstr("cannot name a suite"));
}

}  // namespace
}  // namespace plumb::importers
