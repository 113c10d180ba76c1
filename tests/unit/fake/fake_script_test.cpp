// SPDX-License-Identifier: Apache-2.0
#include "runners/fake/fake_script.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "harness/base/error.hpp"
#include "tests/support/temporary_folder.hpp"

namespace plumb::fake {
namespace {

TEST(FakeScript, reads_every_part) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "script.toml";
  std::ofstream(file) << R"(
    variants = ["jit", "gemm"]
    [identity]
    library = "fake 2.0"
    [facts]
    "library.path" = "/nowhere"
    [calibration]
    peak_f32_flops_per_second = 1e12
    peak_bf16_flops_per_second = 0
    memory_bytes_per_second = 3e10
    last_level_cache_bytes = 1024
    floor_seconds = 2e-8
    [[rule]]
    match = "v1:conv;*"
    variant = "algorithm=gemm"
    outcome = "wrong_result"
    reason = "differs"
    log = "look"
    [[rule]]
    action = "crash"
    seconds = 0.25
    delay_seconds = 0.5
    hold = "/nowhere"
  )";
  const Script script = read_script(file);
  EXPECT_EQ(script.environment.identity.at("library"), "fake 2.0");
  EXPECT_EQ(script.environment.identity.at("backend"), "fake");
  EXPECT_EQ(script.environment.facts.at("library.path"), "/nowhere");
  EXPECT_EQ(script.variants, (std::vector<std::string>{"jit", "gemm"}));
  EXPECT_EQ(script.calibration.peak_f32.value, 1e12);
  EXPECT_EQ(script.calibration.peak_bf16.value, 0.0);
  EXPECT_EQ(script.calibration.memory_bandwidth.value, 3e10);
  EXPECT_EQ(script.calibration.last_level_cache.value, 1024);
  EXPECT_EQ(script.calibration.floor, Seconds(2e-8));
  ASSERT_EQ(script.rules.size(), 2U);
  EXPECT_EQ(script.rules[0].outcome,
            (results::Outcome{results::Outcome::Kind::kWrongResult, "differs"}));
  EXPECT_EQ(script.rules[0].log, "look");
  EXPECT_EQ(script.rules[1].match, "*");
  EXPECT_EQ(script.rules[1].action, Script::Rule::Action::kCrash);
  EXPECT_EQ(script.rules[1].time, Seconds(0.25));
  EXPECT_EQ(script.rules[1].delay, Seconds(0.5));
  EXPECT_EQ(script.rules[1].hold, "/nowhere");
}

TEST(FakeScript, lets_the_first_rule_that_matches_win) {
  Script script = default_script();
  script.rules = {{.match = "a*", .variant = "v1"}, {.match = "a*", .variant = "*"}};
  EXPECT_EQ(script.rule_for("abc", "v1"), &script.rules[0]);
  EXPECT_EQ(script.rule_for("abc", "v2"), &script.rules[1]);
  EXPECT_EQ(script.rule_for("b", "v1"), nullptr);
}

TEST(FakeScript, names_the_line_that_is_wrong) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"rules = []", ":1: 'rules' is not one of"},
      {"variants = []", ":1: 'variants' must be a list of texts"},
      {"\n[calibration]\npeak = 1", ":3: unknown key 'peak'"},
      {"[[rule]]\nmach = \"x\"", ":2: unknown key 'mach'"},
      {"[[rule]]\noutcome = \"great\"", ":2: 'great' is not an outcome"},
      {"[[rule]]\naction = \"dance\"", ":2: 'dance' is not one of none, crash"},
      {"[[rule]]\nseconds = \"1\"", ":2: 'seconds' has a value of the wrong type"},
      {"[[rule]", ":1: "},
  };
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "script.toml";
  for (const auto& [text, expected] : cases) {
    std::ofstream(file) << text;
    try {
      (void)read_script(file);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::kUser);
      EXPECT_THAT(error.what(), testing::HasSubstr("script.toml" + expected));
    }
  }
  EXPECT_THROW((void)read_script(folder.path() / "missing.toml"), Error);
}

}  // namespace
}  // namespace plumb::fake
