// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "harness/base/error.hpp"
#include "harness/importers/symbols/code_finder.hpp"
#include "tests/unit/importers/symbols/jit_dump_builder.hpp"

namespace plumb::importers {
namespace {

using testing::ElementsAre;

std::vector<std::string> described(const CodeFinder::JitDump& dump) {
  std::vector<std::string> texts;
  for (const NamedCode& code : dump.functions) {
    texts.push_back(std::to_string(code.begin) + "-" + std::to_string(code.end) + " " + code.name);
  }
  return texts;
}

TEST(JitDump, names_the_code_of_each_load_by_address) {
  const std::string bytes = JitDumpBuilder()
                                .load(300, "abc", "late")
                                .other(4, "unwinding")
                                .load(100, "0123456789", "early")
                                .other(3, "")
                                .bytes();
  const CodeFinder::JitDump dump = read_jit_dump(bytes);
  EXPECT_THAT(described(dump), ElementsAre("100-110 early", "300-303 late"));
  EXPECT_EQ(bytes.substr(dump.functions[0].offset, 10), "0123456789");
  EXPECT_EQ(bytes.substr(dump.functions[1].offset, 3), "abc");
  EXPECT_FALSE(dump.cut_off);
}

TEST(JitDump, later_code_takes_the_place_of_earlier) {
  EXPECT_THAT(described(read_jit_dump(JitDumpBuilder()
                                          .load(100, std::string(10, 'x'), "first")
                                          .load(110, std::string(10, 'x'), "kept")
                                          .load(90, std::string(15, 'x'), "over the begin")
                                          .bytes())),
              ElementsAre("90-105 over the begin", "110-120 kept"));
  EXPECT_THAT(described(read_jit_dump(JitDumpBuilder()
                                          .load(100, std::string(50, 'x'), "large")
                                          .load(120, std::string(5, 'x'), "inside")
                                          .bytes())),
              ElementsAre("120-125 inside"));
}

TEST(JitDump, code_that_moves_keeps_its_name) {
  EXPECT_THAT(described(read_jit_dump(JitDumpBuilder()
                                          .load(100, std::string(10, 'x'), "moved")
                                          .move(100, 500, 10)
                                          .move(700, 800, 10)  // of nothing
                                          .bytes())),
              ElementsAre("500-510 moved"));
}

TEST(JitDump, what_is_cut_off_keeps_the_records_before) {
  const std::string whole =
      JitDumpBuilder().load(100, "abc", "first").load(200, "def", "second").bytes();
  for (const std::size_t missing : {std::size_t{1}, std::size_t{50}}) {
    const CodeFinder::JitDump dump = read_jit_dump(whole.substr(0, whole.size() - missing));
    EXPECT_TRUE(dump.cut_off);
    EXPECT_THAT(described(dump), ElementsAre("100-103 first"));
  }
}

TEST(JitDump, long_names_are_cut_and_impossible_sizes_left_out) {
  const CodeFinder::JitDump dump =
      read_jit_dump(JitDumpBuilder()
                        .load(100, "abc", std::string(2 * kMaxCodeName, 'n'))
                        .load(0xFFFF'FFFF'FFFF'FFFF, "abc", "wraps")
                        .load(200, "", "empty")
                        .bytes());
  ASSERT_EQ(dump.functions.size(), 1U);
  EXPECT_EQ(dump.functions[0].name.size(), kMaxCodeName);
}

TEST(JitDump, other_bytes_are_an_error_of_the_user) {
  std::string version = JitDumpBuilder().bytes();
  version[4] = 9;
  std::string order = JitDumpBuilder().bytes();
  std::reverse(order.begin(), order.begin() + 4);
  std::string header = JitDumpBuilder().bytes();
  header[8] = 100;
  for (const std::string& bytes :
       {std::string(), std::string("words"), std::string(64, 'x'), version, order, header}) {
    try {
      static_cast<void>(read_jit_dump(bytes));
      ADD_FAILURE() << bytes.size();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::kUser);
    }
  }
}

}  // namespace
}  // namespace plumb::importers
