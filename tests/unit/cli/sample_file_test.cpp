// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/sample_file.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <fstream>

#include "harness/base/error.hpp"
#include "tests/support/temporary_folder.hpp"

namespace plumb {
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
  const auto series = read_series(write(R"({"series":[{"id":"s","values":[1,2,3]}]})"));
  ASSERT_EQ(series.size(), 1U);
  EXPECT_EQ(series[0].id, "s");
  EXPECT_EQ(series[0].values, (std::vector<double>{1.0, 2.0, 3.0}));
}

TEST_F(SampleFile, says_where_a_file_is_wrong) {
  const auto pairs = [](const auto& path) { return read_paired_samples(path); };
  const auto series = [](const auto& path) { return read_series(path); };
  EXPECT_THAT(fault(pairs, "{\"comparisons\":[{]}"), HasSubstr("is no JSON"));
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
      HasSubstr("there twice"));
  EXPECT_THAT(fault(series, R"({"series":[{"id":"s","values":[1,null]}]})"), HasSubstr("value 1"));
  EXPECT_THAT(fault(series, R"({"series":[{"id":7,"values":[1]}]})"), HasSubstr("text 'id'"));
  EXPECT_THAT(fault(series, R"({"series":[{"id":"s","values":[1e999]}]})"),
              HasSubstr("is no JSON"));
  EXPECT_THROW(static_cast<void>(read_series("/nowhere/at/all.json")), Error);
}

}  // namespace
}  // namespace plumb
