// SPDX-License-Identifier: Apache-2.0
#include "harness/session/study/sample_file.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <fstream>

#include "harness/base/error.hpp"
#include "tests/support/temporary_folder.hpp"

namespace plumb::session {
namespace {

using ::testing::HasSubstr;

class SampleFile : public ::testing::Test {
 protected:
  std::filesystem::path write(const std::string& text) {
    const std::filesystem::path path = folder_.path() / "samples.json";
    std::ofstream(path) << text;
    return path;
  }
  template <typename Read>
  std::string fault(Read read, const std::string& text) {
    try {
      static_cast<void>(read(write(text)));
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::kUser);
      return error.what();
    }
    ADD_FAILURE() << "taken: " << text;
    return {};
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(SampleFile, reads_paired_rounds) {
  const auto questions = read_paired_samples(write(
      R"({"comparisons":[{"id":"a","end_to_end":{"baseline":[1,2.5],"candidate":[1,null]},
          "layers":{"x":{"baseline":[0.1],"candidate":[0.2]}}},{"id":"b","layers":{"y":{"baseline":[],"candidate":[]}}}]})"));
  ASSERT_EQ(questions.size(), 2U);
  EXPECT_EQ(questions[0].id, "a");
  EXPECT_EQ(questions[0].end_to_end->baseline, (std::vector<double>{1.0, 2.5}));
  EXPECT_TRUE(std::isnan(questions[0].end_to_end->candidate[1]));
  EXPECT_EQ(questions[0].layers[0].name, "x");
  EXPECT_FALSE(questions[1].end_to_end.has_value());
}

TEST_F(SampleFile, reads_series) {
  const auto series = read_series(write(R"({"series":[{"id":"s","values":[1,2,null]}]})"));
  ASSERT_EQ(series.size(), 1U);
  EXPECT_EQ(series[0].id, "s");
  EXPECT_EQ(series[0].values[1], 2.0);
  EXPECT_TRUE(std::isnan(series[0].values[2])) << "a missing point";
}

// 5e-324 s against 1.7e308 s ended with an internal error.
TEST_F(SampleFile, refuses_numbers_that_nothing_measures) {
  for (const char* const number : {"5e-324", "1.7e308", "-1e308", "1e61"}) {
    EXPECT_THAT(fault([](const auto& path) { return read_series(path); },
                      std::string(R"({"series":[{"id":"s","values":[1,)") + number + "]}]}"),
                HasSubstr("value 1 of 'values' is"));
  }
  EXPECT_EQ(read_series(write(R"({"series":[{"id":"s","values":[0,-2,1e-60]}]})"))[0].values,
            (std::vector<double>{0.0, -2.0, 1e-60}));
}

TEST_F(SampleFile, reads_annotated_series) {
  const AnnotatedSet set = read_annotated_series(
      write(R"({"series":[{"id":"s","values":[1,2,3],"change_points":[2]}]})"));
  ASSERT_EQ(set.series.size(), 1U);
  EXPECT_EQ(set.series[0].series.id, "s");
  EXPECT_EQ(set.series[0].annotators, (std::vector<stats::MarkedChanges>{{2}}));
}

TEST_F(SampleFile, reads_the_turing_change_point_dataset) {
  const std::filesystem::path annotations =
      write(R"({"a":{"6":[1],"7":[]},"b":{"6":[0]},"wide":{"6":[0]},"gone":{"6":[0]}})");
  const std::filesystem::path datasets = annotations.parent_path() / "datasets";
  std::filesystem::create_directories(datasets / "b");
  std::ofstream(datasets / "a.json") << R"({"series":[{"label":"V1","raw":[1,null,3]}]})";
  std::ofstream(datasets / "b" / "b.json") << R"({"series":[{"label":"V1","raw":[5]}]})";
  std::ofstream(datasets / "wide.json") << R"({"series":[{"raw":[5]},{"raw":[5]}]})";
  const AnnotatedSet set = read_annotated_series(annotations);
  ASSERT_EQ(set.series.size(), 2U);
  EXPECT_EQ(set.series[0].annotators, (std::vector<stats::MarkedChanges>{{1}, {}}));
  EXPECT_TRUE(std::isnan(set.series[0].series.values[1]));
  EXPECT_EQ(set.series[1].series.values, std::vector<double>{5.0});
  EXPECT_EQ(set.skipped, (std::vector<std::string>{"gone", "wide"}));
}

TEST_F(SampleFile, refuses_annotations_that_fit_no_series) {
  const auto read = [](const auto& path) { return read_annotated_series(path); };
  EXPECT_THAT(fault(read, R"({"series":[{"id":"s","values":[1]}]})"), HasSubstr("change_points"));
  EXPECT_THAT(fault(read, R"({"series":[{"id":"s","values":[1],"change_points":[1]}]})"),
              HasSubstr("change point 0"));
  EXPECT_THAT(fault(read, R"({"../s":{"6":[1]}})"), HasSubstr("by annotator"));
  EXPECT_THAT(fault(read, R"({"s":[1]})"), HasSubstr("by annotator"));
}

TEST_F(SampleFile, says_where_a_file_is_wrong) {
  const auto pairs = [](const auto& path) { return read_paired_samples(path); };
  const auto series = [](const auto& path) { return read_series(path); };
  EXPECT_THAT(fault(pairs, "{\"comparisons\":[{]}"), HasSubstr("is not JSON"));
  EXPECT_THAT(fault(pairs, "[]"), HasSubstr("'comparisons'"));
  EXPECT_THAT(fault(pairs, R"({"comparisons":[{"end_to_end":{}}]})"), HasSubstr("text 'id'"));
  EXPECT_THAT(fault(pairs, R"({"comparisons":[{"id":"a"}]})"), HasSubstr("nothing to compare"));
  EXPECT_THAT(fault(pairs, R"({"comparisons":[{"id":"a","layers":[]}]})"), HasSubstr("'layers'"));
  EXPECT_THAT(
      fault(pairs,
            R"({"comparisons":[{"id":"a","end_to_end":{"baseline":[1],"candidate":["x"]}}]})"),
      HasSubstr("comparisons/0/end_to_end: value 0 of 'candidate'"));
  EXPECT_THAT(
      fault(
          pairs,
          R"({"comparisons":[{"id":"a","layers":{"x":{"baseline":[],"candidate":[]}}},{"id":"a","layers":{}}]})"),
      HasSubstr("occurs twice"));
  EXPECT_THAT(
      fault(pairs,
            R"({"comparisons":[{"id":"a","end_to_end":{"baseline":[1,2],"candidate":[1]}}]})"),
      HasSubstr("comparisons/0/end_to_end: 2 values in 'baseline' and 1 in 'candidate'"));
  EXPECT_THAT(fault(series, R"({"series":[{"id":"s","values":[1,"x"]}]})"), HasSubstr("value 1"));
  EXPECT_THAT(fault(series, R"({"series":[{"id":"s","values":[1]},{"id":"s","values":[2]}]})"),
              HasSubstr("series/1: the id 's' occurs twice"));
  EXPECT_THAT(fault(series, R"({"series":[{"id":7,"values":[1]}]})"), HasSubstr("text 'id'"));
  EXPECT_THAT(fault(series, R"({"series":[{"id":"s","values":[1e999]}]})"),
              HasSubstr("is not JSON"));
  EXPECT_THROW(static_cast<void>(read_series("/nowhere/at/all.json")), Error);
}

}  // namespace
}  // namespace plumb::session
