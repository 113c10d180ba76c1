// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "harness/base/error.hpp"
#include "harness/store/export_line.hpp"

namespace plumb::store {
namespace {

std::vector<std::string> sealed(const std::vector<std::string>& lines) {
  ExportLines chain;
  std::vector<std::string> result;
  for (const std::string& line : lines) {
    result.push_back(chain.seal(line));
  }
  return result;
}

/// Returns the lines without their digests. Throws Error{kUser} if one does not match.
std::vector<std::string> unsealed(const std::vector<std::string>& lines) {
  ExportLines chain;
  std::vector<std::string> result;
  for (const std::string& line : lines) {
    result.push_back(chain.unseal(line));
  }
  return result;
}

const std::vector<std::string> kLines{R"({"a":1})", R"({"b":"}"})", R"({"a":1})"};

TEST(ExportChain, lines_come_back_as_they_were) {
  EXPECT_EQ(unsealed(sealed(kLines)), kLines);
}

TEST(ExportChain, the_digest_of_a_line_covers_the_lines_before_it) {
  const std::vector<std::string> lines = sealed(kLines);
  EXPECT_NE(lines[0], lines[2]) << "equal lines at different places";
  EXPECT_THROW((void)unsealed({lines[0], lines[2]}), Error);
  EXPECT_THROW((void)unsealed({lines[1], lines[0], lines[2]}), Error);
}

TEST(ExportChain, every_altered_byte_is_noticed) {
  const std::vector<std::string> lines = sealed(kLines);
  for (std::size_t line = 0; line < lines.size(); ++line) {
    for (std::size_t at = 0; at < lines[line].size(); ++at) {
      for (const int bit : {0, 3, 5}) {
        std::vector<std::string> altered = lines;
        altered[line][at] = static_cast<char>(altered[line][at] ^ (1 << bit));
        EXPECT_THROW((void)unsealed(altered), Error) << line << ' ' << at << ' ' << bit;
      }
    }
  }
}

TEST(ExportChain, a_line_without_a_digest_is_told_from_one_with) {
  EXPECT_FALSE(ExportLines::is_sealed(kLines[0]));
  EXPECT_FALSE(ExportLines::is_sealed(""));
  EXPECT_TRUE(ExportLines::is_sealed(sealed(kLines)[0]));
  EXPECT_THROW((void)unsealed({kLines[0]}), Error);
}

}  // namespace
}  // namespace plumb::store
