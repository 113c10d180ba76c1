// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>

#include "harness/base/error.hpp"
#include "runners/fake/fake_script.hpp"
#include "tests/support/temporary_folder.hpp"

namespace plumb::fake {
namespace {

TEST(RecordedNoise, gives_each_process_the_next_factor_and_starts_again) {
  const TemporaryFolder folder;
  const std::filesystem::path factors = folder.path() / "noise.txt";
  std::ofstream(factors) << "# recorded\n1.5\n\n0.5  # behind\n2\n";
  const std::filesystem::path counter = folder.path() / "counter";
  for (const double expected : {1.5, 0.5, 2.0, 1.5}) {
    const Script::Noise process(factors, counter);
    EXPECT_EQ(process.factor(), expected);
    EXPECT_EQ(process.factor(), expected) << "a process keeps its factor";
  }
  std::ofstream(counter) << "2";
  EXPECT_EQ(Script::Noise(factors, counter).factor(), 2.0) << "a recording may begin anywhere";
}

TEST(RecordedNoise, refuses_what_is_no_recording) {
  const TemporaryFolder folder;
  const std::filesystem::path factors = folder.path() / "noise.txt";
  for (const char* const text : {"", "# none\n", "1\nmany\n", "0\n", "-1\n", "nan\n"}) {
    std::ofstream(factors) << text;
    EXPECT_THROW(static_cast<void>(Script::Noise(factors, folder.path() / "c").factor()), Error)
        << text;
  }
  std::ofstream(factors) << "1\n";
  EXPECT_THROW(static_cast<void>(Script::Noise(factors, folder.path() / "no/such/folder").factor()),
               Error);
}

}  // namespace
}  // namespace plumb::fake
