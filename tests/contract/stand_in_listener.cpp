// SPDX-License-Identifier: Apache-2.0
// Holds the contract suite over the test doubles of NVIDIA's libraries to more: no use of the
// driver that it finds wrong, nothing left behind, and no skip but those of a committed list.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>

#include "tests/support/cuda_driver/control.hpp"

namespace plumb::contract {
namespace {

/// Reads the skips: a test's name and the reason, parted by a tabulator, one a line.
std::map<std::string, std::string> listed_skips() {
  std::map<std::string, std::string> skips;
  std::ifstream file(PLUMB_TEST_SKIPS);
  for (std::string line; std::getline(file, line);) {
    if (const std::size_t tab = line.find('\t'); tab != std::string::npos) {
      skips[line.substr(0, tab)] = line.substr(tab + 1);
    }
  }
  return skips;
}

std::string reason_of(const ::testing::TestResult& result) {
  for (int i = 0; i < result.total_part_count(); ++i) {
    if (result.GetTestPartResult(i).skipped()) {
      std::string text = result.GetTestPartResult(i).message();
      return text.substr(0, text.find('\n'));
    }
  }
  return "";
}

class StandInListener final : public ::testing::EmptyTestEventListener {
 public:
  void OnTestStart(const ::testing::TestInfo& /*test*/) override {
    stand_in::control().reset(kSeed);
    // A kernel of the scripted clock lasts long, so that a replay holds few of them.
    stand_in::control().set_duration(stand_in::Duration::kKernel, 2'000'000);
  }

  void OnTestEnd(const ::testing::TestInfo& test) override {
    EXPECT_EQ(stand_in::control().findings(), "");
    EXPECT_EQ(stand_in::control().living(), stand_in::Living{});
    const std::string name = test.name();
    const auto listed = skips_.find(name);
    const std::string reason = reason_of(*test.result());
    if (test.result()->Skipped()) {
      EXPECT_TRUE(listed != skips_.end() && listed->second == reason)
          << "not in " << PLUMB_TEST_SKIPS << ":\n"
          << name << '\t' << reason;
    } else {
      EXPECT_TRUE(listed == skips_.end()) << "listed as skipped: " << name;
    }
  }

 private:
  static constexpr unsigned kSeed = 7;
  std::map<std::string, std::string> skips_ = listed_skips();
};

[[maybe_unused]] const bool kAppended = [] {
  ::testing::UnitTest::GetInstance()->listeners().Append(new StandInListener);
  return true;
}();

}  // namespace
}  // namespace plumb::contract
