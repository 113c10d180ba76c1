// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "harness/store/files/store_files.hpp"
#include "harness/store/store.hpp"
#include "tests/support/result_rows.hpp"
#include "tests/support/temporary_folder.hpp"

namespace plumb::store {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

constexpr const char* kRun = "01J00000000000000000000001";
constexpr int kCommits = 6;
constexpr std::size_t kHeader = 32;
constexpr std::size_t kFrame = 24 + 4096;

class LogDamage : public testing::Test {
 protected:
  /// Leaves the log of a process that ended without closing its store.
  LogDamage() {
    const pid_t child = fork();
    if (child == 0) {
      const auto store = open_store(url());
      store->begin_run(test::header(kRun));
      for (int i = 0; i < kCommits; ++i) {
        store->append(kRun, std::vector<results::Measurement>{test::row(test::key(i), 5)});
      }
      _exit(0);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    std::ifstream file(log_, std::ios::binary);
    good_.assign(std::istreambuf_iterator<char>(file), {});
    EXPECT_GT(good_.size(), kHeader + kCommits * kFrame);
  }
  [[nodiscard]] std::string url() const { return "sqlite:" + path_.string(); }
  void write(const std::string& content) const { std::ofstream(log_, std::ios::binary) << content; }
  [[nodiscard]] std::string damage_at(std::size_t byte, int bit = 0) const {
    std::string bad = good_;
    bad.at(byte) = static_cast<char>(bad.at(byte) ^ (1 << bit));
    write(bad);
    return read_log_damage(path_).value_or("none");
  }
  [[nodiscard]] std::size_t last_frame() const { return good_.size() - kFrame; }

  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_.path() / "store.db";
  std::filesystem::path log_ = folder_.path() / "store.db-wal";
  std::string good_;
};

TEST_F(LogDamage, a_sound_log_a_cut_one_and_none_have_no_damage) {
  EXPECT_EQ(read_log_damage(path_), std::nullopt);
  write(good_.substr(0, last_frame() + 100));  // a kill between the writes of a frame
  EXPECT_EQ(read_log_damage(path_), std::nullopt);
  write("");
  EXPECT_EQ(read_log_damage(path_), std::nullopt);
  std::filesystem::remove(log_);
  EXPECT_EQ(read_log_damage(path_), std::nullopt);
}

TEST_F(LogDamage, a_flipped_bit_says_how_many_transactions_are_lost) {
  EXPECT_THAT(damage_at(kHeader + 24 + 1000),
              testing::AllOf(HasSubstr("at frame 1 of"), HasSubstr("store.db-wal")));
  EXPECT_THAT(damage_at(20), HasSubstr("header"));
  EXPECT_THAT(damage_at(last_frame() + 30), HasSubstr("last transaction"));
}

TEST_F(LogDamage, every_field_of_every_frame_is_covered) {
  for (std::size_t frame = kHeader; frame < good_.size(); frame += kFrame) {
    for (const std::size_t field : {0U, 3U, 8U, 15U, 16U, 23U, 24U, 4119U}) {
      EXPECT_NE(damage_at(frame + field), "none") << frame << ' ' << field;
    }
  }
}

TEST_F(LogDamage, frames_of_an_older_log_are_none_of_its_own) {
  {
    const auto store = open_store(url());
    ASSERT_TRUE(store->take_run(kRun));
    store->append(kRun, std::vector<results::Measurement>{test::row(test::key(99), 5)});
    EXPECT_EQ(read_log_damage(path_), std::nullopt);
  }
  EXPECT_EQ(read_log_damage(path_), std::nullopt);
}

TEST_F(LogDamage, the_store_says_so_at_its_next_opening_and_when_verified) {
  EXPECT_NE(damage_at(good_.size() - 3 * kFrame), "none");
  testing::internal::CaptureStdout();
  const auto store = open_store(url());
  EXPECT_LT(store->measurements(kRun).size(), static_cast<std::size_t>(kCommits));
  EXPECT_THAT(store->verify(), testing::Contains(HasSubstr("log: ")));
  EXPECT_THAT(testing::internal::GetCapturedStdout(), HasSubstr("rows may be lost"));
}

}  // namespace
}  // namespace plumb::store
