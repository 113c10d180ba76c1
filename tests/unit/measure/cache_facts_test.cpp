// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "harness/measure/processor.hpp"

namespace plumb::measure {
namespace {

class CacheFactsFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("plumb-cache-facts-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void add(int index, const std::string& level, const std::string& type, const std::string& size) {
    const auto folder = folder_ / ("index" + std::to_string(index));
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "level") << level << "\n";
    std::ofstream(folder / "type") << type << "\n";
    std::ofstream(folder / "size") << size << "\n";
  }

  std::filesystem::path folder_;
};

TEST_F(CacheFactsFiles, takes_the_highest_level) {
  add(0, "1", "Data", "48K");
  add(1, "1", "Instruction", "32K");
  add(2, "2", "Unified", "2048K");
  add(3, "3", "Unified", "107520K");
  EXPECT_EQ(read_last_level_cache(folder_).value_or(Bytes{}).value, 107520 * 1024);
}

TEST_F(CacheFactsFiles, passes_over_instruction_caches_and_nonsense) {
  add(0, "2", "Unified", "1M");
  add(1, "3", "Instruction", "64M");
  add(2, "4", "Unified", "lots");
  add(3, "5", "Unified", "-1K");
  add(4, "6", "Unified", "99999999999999999999K");
  add(5, "7", "Unified", "9223372036854775807G");
  add(6, "x", "Unified", "8M");
  EXPECT_EQ(read_last_level_cache(folder_).value_or(Bytes{}).value, 1 << 20);
}

TEST_F(CacheFactsFiles, knows_no_size_where_the_system_does_not_say) {
  EXPECT_EQ(read_last_level_cache(folder_ / "nowhere"), std::nullopt);
}

}  // namespace
}  // namespace plumb::measure
