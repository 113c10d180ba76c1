// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "tests/unit/reporting/sample_report.hpp"

namespace plumb {
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

TEST(JunitReport, is_well_formed_whatever_the_names) {
  for (const RunReport& report : {sample_report(), hostile_report()}) {
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
}  // namespace plumb
