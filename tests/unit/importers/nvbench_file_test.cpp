// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstring>
#include <limits>

#include "harness/base/error.hpp"
#include "harness/importers/result_files.hpp"

namespace plumb::importers {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

std::string summary(const std::string& tag, const std::string& name, const std::string& value) {
  return fmt::format(
      R"({{"tag":"{}","name":"x","data":[{{"name":"{}","type":"float64","value":{}}}]}})",
      tag,
      name,
      value);
}

std::string times(const std::string& mean = "\"2e-05\"") {
  return summary("nv/cold/sample_size", "value", "\"100\"") + "," +
         summary("nv/cold/time/gpu/mean", "value", mean) + "," +
         summary("nv/cold/time/gpu/stdev/relative", "value", "\"0.05\"");
}

std::string sample_file(int size) {
  return fmt::format(
      R"({{"tag":"nv/json/bin:nv/cold/sample_times","data":[{{"name":"filename","type":"string","value":"out/r.json-bin/0.bin"}},{{"name":"size","type":"int64","value":"{}"}}]}})",
      size);
}

std::string file(const std::string& summaries, const std::string& more = R"("is_skipped":false)") {
  return fmt::format(
      R"({{"meta":{{"version":{{"nvbench":{{"string":"0.2"}}}}}},"devices":[{{"id":0,"name":"GPU A","sm_version":900}},{{"id":1,"name":"GPU B"}}],
          "benchmarks":[{{"name":"copy","index":0,"states":[{{"name":"Device=0 Size=2^8","device":0,"summaries":[{}],{}}}]}}]}})",
      summaries,
      more);
}

std::string floats(std::initializer_list<float> values) {
  std::string bytes(values.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), values.begin(), bytes.size());
  return bytes;
}

std::string fault(const std::string& text, const std::string& bytes = "") {
  try {
    static_cast<void>(read_nvbench(text, [&](const std::string&, std::size_t) { return bytes; }));
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kUser);
    return error.what();
  }
  return "taken";
}

TEST(NvbenchFile, reads_mean_and_deviation_where_samples_were_not_kept) {
  const ImportedResults results =
      read_nvbench(file(times()), [](const std::string&, std::size_t) { return std::string(); });
  ASSERT_THAT(results.benchmarks, SizeIs(1));
  EXPECT_EQ(results.benchmarks[0].name, "copy Device=0 Size=2^8");
  ASSERT_TRUE(results.benchmarks[0].statistics.has_value());
  EXPECT_EQ(results.benchmarks[0].statistics->n, 100U);
  EXPECT_DOUBLE_EQ(results.benchmarks[0].statistics->mean.count(), 2e-5);
  EXPECT_DOUBLE_EQ(results.benchmarks[0].statistics->deviation->count(), 1e-6);
  EXPECT_FALSE(results.benchmarks[0].statistics->min.has_value()) << "unknown is not zero";
  EXPECT_EQ(results.identity, (results::Facts{{"gpu.model", "GPU A"}}))
      << "the device that was used";
  EXPECT_EQ(results.facts.at("gpu.0.sm_version"), "900");
  EXPECT_FALSE(results.started.has_value());
}

TEST(NvbenchFile, reads_the_samples_of_the_binary_file) {
  std::string asked;
  std::size_t most = 0;
  const ImportedResults results = read_nvbench(file(times() + "," + sample_file(2)),
                                               [&](const std::string& name, std::size_t bytes) {
                                                 asked = name;
                                                 most = bytes;
                                                 return floats({1e-5F, 3e-5F});
                                               });
  EXPECT_EQ(asked, "out/r.json-bin/0.bin");
  EXPECT_EQ(most, 8U);
  ASSERT_THAT(results.benchmarks[0].samples, SizeIs(2));
  EXPECT_FLOAT_EQ(static_cast<float>(results.benchmarks[0].samples[1].count()), 3e-5F);
  EXPECT_FALSE(results.benchmarks[0].statistics.has_value());
}

TEST(NvbenchFile, a_skipped_state_keeps_its_reason) {
  const ImportedResults results =
      read_nvbench(file("", R"("is_skipped":true,"skip_reason":"too large")"),
                   [](const std::string&, std::size_t) { return std::string(); });
  EXPECT_EQ(results.benchmarks[0].outcome,
            (results::Outcome{results::Outcome::Kind::kSkipped, "too large"}));
}

TEST(NvbenchFile, says_where_a_file_is_wrong) {
  EXPECT_EQ(fault(file(times())), "taken");
  const std::string place = "benchmarks/0/states/0: ";
  EXPECT_THAT(fault(file("")), HasSubstr(place + "no time of isolated launches"));
  EXPECT_THAT(fault(file(times("\"0\""))), HasSubstr(place + "the time"));
  EXPECT_THAT(fault(file(times("\"-1\""))), HasSubstr(place + "the time"));
  EXPECT_THAT(fault(file(times("\"2e\""))), HasSubstr(place + "'2e' is not a number"));
  EXPECT_THAT(fault(file(times("\"nan\""))), HasSubstr(place + "no time"));
  EXPECT_THAT(fault(file(times("null"))), HasSubstr(place + "no time"));
  EXPECT_THAT(fault(file(sample_file(2)), floats({1e-5F})), HasSubstr("4 bytes, not the 8 of 2"));
  EXPECT_THAT(fault(file(sample_file(1)), floats({0.0F})), HasSubstr(place + "the time"));
  EXPECT_THAT(fault(file(sample_file(1)), floats({std::numeric_limits<float>::quiet_NaN()})),
              HasSubstr("the time"));
  EXPECT_THAT(fault(file(sample_file(2'000'000))), HasSubstr("number of samples in its file"));
  EXPECT_THAT(fault(file(sample_file(0))), HasSubstr("number of samples in its file"));
  EXPECT_THAT(fault(R"({"benchmarks":[{"name":"x","states":null}]})"), HasSubstr("no states"));
  const std::string whole = file(times());
  for (std::size_t cut = 0; cut < whole.size(); cut += 11) {
    EXPECT_THAT(fault(whole.substr(0, cut)), HasSubstr("not JSON")) << cut;
  }
}

}  // namespace
}  // namespace plumb::importers
