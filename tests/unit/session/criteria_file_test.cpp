// SPDX-License-Identifier: Apache-2.0
#include "harness/session/study/criteria_file.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include "harness/base/error.hpp"
#include "tests/support/temporary_folder.hpp"

namespace plumb::session {
namespace {

using ::testing::HasSubstr;

class CriteriaFile : public testing::Test {
 protected:
  analysis::Qualification::Criteria read(const std::string& text) {
    const std::filesystem::path file = folder_.path() / "criteria.toml";
    std::ofstream(file) << text;
    return read_criteria(file, "2026-11-21");
  }
  std::string refusal(const std::string& text) {
    try {
      static_cast<void>(read(text));
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(CriteriaFile, reads_limits_and_waivers_and_keeps_the_rest_at_its_default) {
  const analysis::Qualification::Criteria criteria = read(
      "[criteria]\nlayer_slowdown = 0.05\nmemory_growth = 0\nmemory_minimum_bytes = "
      "4096\nnew_unsupported = \"allowed\"\n"
      "[[waiver]]\ncase = \"lenet*\"\nreason = \"retired\"\nwho = \"us\"\nexpires = "
      "\"2026-11-21\"\n"
      "[[waiver]]\ncase = \"x\"\nreason = \"r\"\nwho = \"us\"\nexpires = \"2026-11-20\"\n");
  EXPECT_EQ(criteria.layer_slowdown, 0.05);
  EXPECT_EQ(criteria.model_slowdown, 0.02);
  EXPECT_EQ(criteria.memory_growth, 0.0);
  EXPECT_EQ(criteria.memory_minimum_bytes, 4096.0);
  EXPECT_EQ(criteria.creation_minimum_seconds, 0.001);
  EXPECT_TRUE(criteria.new_unsupported);
  EXPECT_EQ(criteria.sha256.size(), 64U);
  ASSERT_EQ(criteria.waivers.size(), 2U);
  EXPECT_FALSE(criteria.waivers[0].expired);
  EXPECT_TRUE(criteria.waivers[1].expired);
}

TEST_F(CriteriaFile, refuses_what_it_does_not_know) {
  EXPECT_THAT(refusal("[criteria]\nmodel_slowdwn = 0.1\n"), HasSubstr("model_slowdown"));
  EXPECT_THAT(refusal("[criteria]\nlayer_slowdown = -0.1\n"), HasSubstr(":2"));
  EXPECT_THAT(refusal("[[waiver]]\ncase = \"x\"\nreason = \"r\"\nwho = \"w\"\n"),
              HasSubstr("expires"));
  EXPECT_THAT(refusal("[[waiver]]\ncase = \"x\"\nreason = \"r\"\nwho = \"w\"\nexpires = "
                      "\"2026-13-01\"\n"),
              HasSubstr("not a date"));
}

}  // namespace
}  // namespace plumb::session
