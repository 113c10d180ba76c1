// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "tests/unit/reporting/sample_report.hpp"

namespace plumb::reporting {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// Tells whether xmllint takes the text; absent without xmllint.
std::optional<bool> well_formed(const std::string& text) {
  if (std::system("command -v xmllint >/dev/null 2>&1") != 0) {
    return std::nullopt;
  }
  std::string name = std::filesystem::temp_directory_path() / "plumb-junit-XXXXXX";
  const int descriptor = ::mkstemp(name.data());
  if (descriptor < 0) {
    return std::nullopt;
  }
  ::close(descriptor);
  std::ofstream(name, std::ios::binary) << text;
  const bool taken = std::system(("xmllint --noout '" + name + "'").c_str()) == 0;
  std::filesystem::remove(name);
  return taken;
}

TEST(JunitReport, is_a_suite_a_model_and_a_case_a_layer) {
  const std::string text = written(sample_report(), ".xml");
  EXPECT_THAT(text,
              HasSubstr("<testsuite name=\"tiny batch 1 f32\" tests=\"4\" failures=\"0\" "
                        "errors=\"0\" skipped=\"0\" time=\"0.003500000\" "
                        "timestamp=\"2026-01-02T03:04:05\">"));
  EXPECT_THAT(text, HasSubstr("<testcase classname=\"tiny\" name=\"conv1\" time=\"0.002000000\">"));
  EXPECT_THAT(text, HasSubstr("<property name=\"hardware.any.seconds\" value=\"0.000250000\"/>"));
  EXPECT_THAT(text, HasSubstr("<property name=\"key\" value=\"v1:conv;"));
}

TEST(JunitReport, makes_a_crash_an_error_and_an_untried_layer_skipped) {
  const std::string text = written(hostile_report(), ".xml");
  EXPECT_THAT(text, HasSubstr("tests=\"4\" failures=\"0\" errors=\"1\" skipped=\"1\""));
  EXPECT_THAT(text, HasSubstr("<skipped message=\"not measured\"/>"));
  EXPECT_THAT(text, HasSubstr("<error message=\"crashed: &lt;/script&gt;"));
  EXPECT_THAT(text, HasSubstr("<property name=\"library.plain.complete\" value=\"false\"/>"));
}

TEST(JunitReport, lists_what_the_suite_excludes_as_skipped_with_its_reason) {
  analysis::RunReport report = sample_report();
  report.exclusions = {{"tiny|*", "slow since the new kernel", "ann", "2026-03-31"},
                       {"other|*", "was broken", "", "2025-12-31"}};
  const std::string text = written(report, ".xml");
  EXPECT_THAT(text,
              HasSubstr("<testsuite name=\"excluded by the suite\" tests=\"2\" failures=\"0\" "
                        "errors=\"0\" skipped=\"2\""));
  EXPECT_THAT(
      text,
      HasSubstr("name=\"tiny|*\"><skipped message=\"tiny|*: slow since the new kernel (ann, "
                "until 2026-03-31)\"/>"));
  EXPECT_THAT(text, HasSubstr("other|*: was broken (expired after 2025-12-31)"));
  EXPECT_THAT(written(sample_report(), ".xml"), Not(HasSubstr("excluded by the suite")));
}

TEST(JunitReport, an_excluded_layer_is_skipped_until_the_last_day_and_not_after_it) {
  analysis::RunReport report = hostile_report();
  report.exclusions = {{"v1:*", "known", "", "2026-01-02"}};
  const std::string text = written(report, ".xml");
  EXPECT_THAT(text, HasSubstr("errors=\"0\" skipped=\"3\""));
  EXPECT_THAT(text,
              HasSubstr("<skipped message=\"excluded by the suite: v1:*: known (until "
                        "2026-01-02); crashed: &lt;/script&gt;"));
  report.exclusions[0].until = "2026-01-01";
  EXPECT_THAT(written(report, ".xml"), HasSubstr("errors=\"1\" skipped=\"1\""));
  EXPECT_THAT(written(report, ".xml"), HasSubstr("known (expired after 2026-01-01)"));
}

TEST(JunitReport, is_well_formed_whatever_the_names) {
  analysis::RunReport excluded = sample_report();
  excluded.exclusions = {{kHostileName, kHostileName, kHostileName, "2999-01-01"},
                         {"v1:*", kHostileName, kHostileName, "2999-01-01"}};
  for (const analysis::RunReport& report : {sample_report(), hostile_report(), excluded}) {
    const std::string text = written(report, ".xml");
    EXPECT_TRUE(is_clean_utf8(text));
    EXPECT_THAT(text, Not(HasSubstr("<script")));
    EXPECT_THAT(text, Not(HasSubstr("\xef\xbf\xbe")));
    const std::optional<bool> taken = well_formed(text);
    if (!taken) {
      GTEST_SKIP() << "xmllint is not installed";
    }
    EXPECT_TRUE(*taken);
  }
}

}  // namespace
}  // namespace plumb::reporting
