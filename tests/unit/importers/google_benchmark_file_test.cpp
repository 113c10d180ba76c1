// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "harness/base/error.hpp"
#include "harness/importers/result_files.hpp"

namespace plumb::importers {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

const std::string kContext =
    R"({"date":"2026-11-21T03:04:05+02:00","host_name":"ci-7","num_cpus":8,"mhz_per_cpu":3000,
        "cpu_scaling_enabled":true,"executable":"./sums","library_build_type":"release"})";

std::string entry(const std::string& name, int index, int of, const std::string& more) {
  return fmt::format(
      R"({{"name":"{0}","run_name":"{0}","run_type":"iteration","repetitions":{2},"repetition_index":{1},
          "threads":1,"iterations":1000,"time_unit":"us",{3}}})",
      name,
      index,
      of,
      more);
}

std::string file(const std::string& entries, const std::string& context = kContext) {
  return R"({"context":)" + context + R"(,"benchmarks":[)" + entries + "]}";
}

std::string fault(const std::string& text) {
  try {
    static_cast<void>(read_google_benchmark(text));
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kUser);
    return error.what();
  }
  return "taken";
}

TEST(GoogleBenchmarkFile, reads_repetitions_and_leaves_aggregates_out) {
  const ImportedResults results = read_google_benchmark(file(
      entry("sum/8", 0, 2, R"("real_time":2.5)") + "," +
      entry("sum/8", 1, 2, R"("real_time":2.0)") +
      R"(,{"name":"sum/8_mean","run_name":"sum/8","run_type":"aggregate","aggregate_name":"mean",
               "real_time":9,"time_unit":"us"})"));
  ASSERT_THAT(results.benchmarks, SizeIs(1));
  const ImportedResults::Benchmark& sum = results.benchmarks[0];
  EXPECT_EQ(sum.name, "sum/8");
  ASSERT_THAT(sum.samples, SizeIs(2));
  EXPECT_DOUBLE_EQ(sum.samples[0].count(), 2.5e-6);
  EXPECT_DOUBLE_EQ(sum.samples[1].count(), 2.0e-6);
  EXPECT_EQ(sum.repetitions, 1000);
  EXPECT_EQ(results.identity, (results::Facts{{"cpu.count", "8"}, {"host", "ci-7"}}));
  EXPECT_EQ(results.facts.at("benchmark.library_build_type"), "release");
  EXPECT_EQ(to_text(*results.started), "2026-11-21T01:04:05.000000Z") << "an hour east is earlier";
}

TEST(GoogleBenchmarkFile, a_benchmark_that_fails_keeps_its_reason) {
  const ImportedResults results = read_google_benchmark(
      file(entry("bad", 0, 2, R"("error_occurred":true,"error_message":"no file","real_time":0)") +
           "," + entry("bad", 1, 2, R"("real_time":2)") + "," +
           entry("left", 0, 1, R"("skipped":true,"skip_message":"no AVX","real_time":0)")));
  ASSERT_THAT(results.benchmarks, SizeIs(2));
  EXPECT_EQ(results.benchmarks[0].outcome,
            (results::Outcome{results::Outcome::Kind::kUnsupported, "no file"}));
  EXPECT_THAT(results.benchmarks[0].samples, SizeIs(0));
  EXPECT_EQ(results.benchmarks[1].outcome,
            (results::Outcome{results::Outcome::Kind::kSkipped, "no AVX"}));
}

TEST(GoogleBenchmarkFile, says_where_a_file_is_wrong) {
  const std::string good = entry("a", 0, 2, R"("real_time":2)");
  const std::string last = entry("a", 1, 2, R"("real_time":2)");
  ASSERT_EQ(fault(file(good + "," + last)), "taken");
  EXPECT_THAT(fault(file(good)), HasSubstr("'a' has 1 of its 2 repetitions"));
  EXPECT_THAT(fault(file(good + "," + good)),
              HasSubstr("benchmarks/1: repetition 0 of 'a' occurs twice"));
  for (const char* const time : {"0", "-1", "1e30"}) {
    EXPECT_THAT(fault(file(good + "," + entry("a", 1, 2, fmt::format(R"("real_time":{})", time)))),
                HasSubstr("benchmarks/1: the time"))
        << time;
  }
  EXPECT_THAT(fault(file(entry("a", 0, 1, R"("real_time":NaN)"))), HasSubstr("not JSON"));
  EXPECT_THAT(fault(file(entry("a", 0, 1, R"("real_time":"2")"))), HasSubstr("'real_time'"));
  EXPECT_THAT(
      fault(file(
          R"({"name":"a","run_type":"iteration","iterations":1,"real_time":1,"time_unit":"h"})")),
      HasSubstr("'time_unit' is 'h'"));
  EXPECT_THAT(fault(file(entry("a\\nb", 0, 1, R"("real_time":1)"))),
              HasSubstr("control characters"));
  EXPECT_THAT(fault(file(entry(std::string(2000, 'x'), 0, 1, R"("real_time":1)"))),
              HasSubstr("1 to 1024 bytes"));
  EXPECT_THAT(fault(file("")), HasSubstr("nothing to import"));
  const std::string whole = file(good + "," + last);
  for (std::size_t cut = 0; cut < whole.size(); cut += 7) {
    EXPECT_THAT(fault(whole.substr(0, cut)), HasSubstr("not JSON")) << cut;
  }
  EXPECT_THAT(fault("[]"), HasSubstr("expected"));
  EXPECT_THAT(fault(file(good, R"({"num_cpus":0})")), HasSubstr("'num_cpus'"));
  std::string many;
  for (int i = 0; i <= 100'000; ++i) {
    many += i == 0 ? "0" : ",0";
  }
  EXPECT_THAT(fault(file(many)), HasSubstr("'benchmarks' has 100001 elements: at most 100000"));
}

std::string plain(const std::string& name, const std::string& more) {
  return fmt::format(R"({{"name":"{}","iterations":1000,"time_unit":"us",{}}})", name, more);
}

TEST(GoogleBenchmarkFile, takes_a_file_of_an_early_version) {
  const std::string text =
      R"({"benchmarks":[)" + plain("conv/1", R"("real_time":2.5,"cpu_time":1)") + "," +
      plain("conv/2", R"("real_time":3)") + "," + plain("conv/2", R"("real_time":5)") + "," +
      plain("conv/2_mean", R"("real_time":4)") + "," + plain("conv/2_stddev", R"("real_time":1)") +
      "," + plain("ends_in_mean", R"("real_time":6)") + "," +
      R"({"name":"conv_BigO","cpu_coefficient":1,"real_coefficient":1,"big_o":"N","time_unit":"ns"},)" +
      R"({"name":"conv_RMS","rms":0.1}]})";
  const ImportedResults results = read_google_benchmark(text);
  ASSERT_THAT(results.benchmarks, SizeIs(3)) << "no aggregate and no fit";
  EXPECT_EQ(results.benchmarks[0].name, "conv/1");
  EXPECT_THAT(results.benchmarks[0].samples, SizeIs(1));
  EXPECT_THAT(results.benchmarks[1].samples, SizeIs(2)) << "the same name again is a repetition";
  EXPECT_EQ(results.benchmarks[2].name, "ends_in_mean");
  EXPECT_EQ(results.identity, (results::Facts{{"host", ""}})) << "there is no context";
  EXPECT_FALSE(results.started.has_value());
}

TEST(GoogleBenchmarkFile, reads_dates_of_every_version) {
  const auto read = [](const std::string& date) {
    return read_google_benchmark(
        file(plain("a", R"("real_time":2)"), R"({"date":")" + date + R"("})"));
  };
  EXPECT_EQ(to_text(*read("2019-05-03 14:05:17").started), "2019-05-03T14:05:17.000000Z");
  EXPECT_EQ(to_text(*read("2016/08/02-14:05:17").started), "2016-08-02T14:05:17.000000Z");
  EXPECT_EQ(read("2019-05-03 14:05:17").facts.at("benchmark.date"),
            "2019-05-03 14:05:17 (without a zone, taken as UTC)");
  EXPECT_FALSE(read("2026-11-21T03:04:05+02:00").facts.contains("benchmark.date"));
  for (const char* const date : {"2026-11-21T03:04:05+99:00", "yesterday", "2019-99-03 14:05:17"}) {
    EXPECT_EQ(read(date).unread_date, date);
    EXPECT_FALSE(read(date).started.has_value());
  }
}

TEST(GoogleBenchmarkFile, reads_means_where_repetitions_were_not_kept) {
  const auto aggregate = [](const std::string& name, const std::string& more) {
    return fmt::format(
        R"({{"name":"a_{0}","run_name":"a","run_type":"aggregate","aggregate_name":"{0}","time_unit":"us",{1}}})",
        name,
        more);
  };
  const ImportedResults results = read_google_benchmark(
      file(aggregate("mean", R"("repetitions":9,"iterations":9,"real_time":4)") + "," +
           aggregate("median", R"("repetitions":9,"iterations":9,"real_time":3)") + "," +
           aggregate("stddev", R"("repetitions":9,"iterations":9,"real_time":0.5)") + "," +
           aggregate("cv", R"("repetitions":9,"iterations":9,"real_time":0.125)")));
  ASSERT_THAT(results.benchmarks, SizeIs(1));
  ASSERT_TRUE(results.benchmarks[0].statistics.has_value());
  EXPECT_EQ(results.benchmarks[0].statistics->n, 9U);
  EXPECT_DOUBLE_EQ(results.benchmarks[0].statistics->mean.count(), 4e-6);
  EXPECT_DOUBLE_EQ(results.benchmarks[0].statistics->deviation->count(), 0.5e-6);
  const ImportedResults early = read_google_benchmark(
      file(plain("b_mean", R"("real_time":4)") + "," + plain("b_stddev", R"("real_time":1)")));
  ASSERT_THAT(early.benchmarks, SizeIs(1));
  EXPECT_EQ(early.benchmarks[0].name, "b");
  EXPECT_FALSE(early.benchmarks[0].statistics->deviation.has_value())
      << "without the number of repetitions it says nothing of the mean";
}

}  // namespace
}  // namespace plumb::importers
