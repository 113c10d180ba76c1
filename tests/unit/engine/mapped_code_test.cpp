// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "runners/engine/exec/this_process.hpp"
#include "runners/engine/profile/address_sampler.hpp"

namespace plumb::engine {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

std::vector<results::SampledProfile::Mapping> parsed_maps(const std::string& text) {
  std::istringstream maps(text);
  return parse_mapped_code(maps);
}

TEST(MappedCode, has_the_place_the_offset_and_the_file) {
  const auto mappings = parsed_maps(
      "55d0a1000000-55d0a1002000 r--p 00000000 08:01 1311 /usr/bin/plumb\n"
      "55d0a1002000-55d0a1004000 r-xp 00002000 08:01 1311                       /usr/bin/plumb\n"
      "7f0000000000-7f0000001000 rwxp 00000000 00:00 0 \n"
      "7f0000001000-7f0000002000 rw-p 00000000 00:00 0\n"
      "7ffd1c5f2000-7ffd1c5f4000 r-xp 00000000 00:00 0                          [vdso]\n"
      "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]");
  ASSERT_THAT(mappings, SizeIs(4)) << "those with code alone";
  EXPECT_EQ(mappings[0].begin, 0x55d0a1002000U);
  EXPECT_EQ(mappings[0].end, 0x55d0a1004000U);
  EXPECT_EQ(mappings[0].offset, 0x2000U);
  EXPECT_EQ(mappings[0].path, "/usr/bin/plumb");
  EXPECT_EQ(mappings[0].build_id, "");
  EXPECT_EQ(mappings[1].begin, 0x7f0000000000U);
  EXPECT_EQ(mappings[1].path, "") << "code made at run time";
  EXPECT_EQ(mappings[2].path, "[vdso]");
  EXPECT_EQ(mappings[3].end, 0xffffffffff601000U);
}

TEST(MappedCode, keeps_paths_as_the_kernel_writes_them) {
  for (const char* const path : {"/tmp/a file  with spaces ",
                                 "/tmp/gone.so (deleted)",
                                 "/tmp/two\\012lines",
                                 "/tmp/1000-2000 r-xp 00000000 08:01 1 /no/other",
                                 "/dev/zero\r",
                                 "/tmp/\xff\xfe"}) {
    const auto mappings =
        parsed_maps(std::string("1000-2000 r-xp 00000000 08:01 7    ") + path + "\n");
    ASSERT_THAT(mappings, SizeIs(1)) << path;
    EXPECT_EQ(mappings[0].path, path);
  }
  const auto empty = parsed_maps("1000-2000 r-xp 00000000 08:01 7");
  ASSERT_THAT(empty, SizeIs(1));
  EXPECT_EQ(empty[0].path, "");
  const auto largest = parsed_maps("0-ffffffffffffffff r-xp ffffffffffffffff 08:01 7 /x");
  ASSERT_THAT(largest, SizeIs(1));
  EXPECT_EQ(largest[0].end, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(largest[0].offset, std::numeric_limits<std::uint64_t>::max());
}

TEST(MappedCode, leaves_out_lines_of_another_form) {
  for (const char* const line : {"",
                                 " ",
                                 "-",
                                 "no maps",
                                 "1000",
                                 "1000-",
                                 "1000-2000",
                                 "1000-2000 ",
                                 "1000-2000 r-xp",
                                 "1000-2000 r-xp ",
                                 "1000-2000 r-xp 0",
                                 "1000-2000 r-xp 0 ",
                                 "1000-2000 r-xp 0 08:01",
                                 "1000-2000 r-xp 0 08:01 ",
                                 "1000-2000 r-xp 0 08:01  /path",
                                 "1000-2000  0 08:01 7 /path",
                                 "1000-2000 x 0 08:01 7 /path",
                                 "1000-2000 r-xp here 08:01 7 /path",
                                 "1000 2000 r-xp 0 08:01 7 /path",
                                 "1000--2000 r-xp 0 08:01 7 /path",
                                 "-1000-2000 r-xp 0 08:01 7 /path",
                                 "0x1000-0x2000 r-xp 0 08:01 7 /path",
                                 " 1000-2000 r-xp 0 08:01 7 /path",
                                 "2000-1000 r-xp 0 08:01 7 /path",
                                 "1000-1000 r-xp 0 08:01 7 /path",
                                 "1000-10000000000000000 r-xp 0 08:01 7 /path",
                                 "1000-2000 r-xp 10000000000000000 08:01 7 /path"}) {
    EXPECT_THAT(parsed_maps(line), IsEmpty()) << line;
    const auto beside =
        parsed_maps(std::string(line) + "\n3000-4000 r-xp 0 08:01 7 /next\n" + line);
    ASSERT_THAT(beside, SizeIs(1)) << line;
    EXPECT_EQ(beside[0].path, "/next") << line;
  }
}

TEST(MappedCode, of_this_process_has_the_file_of_a_function) {
  const void* const inside = reinterpret_cast<const void*>(&parsed_maps);
  const auto address = reinterpret_cast<std::uintptr_t>(inside);
  const std::vector<results::SampledProfile::Mapping> code = read_mapped_code();
  const auto own = std::find_if(code.begin(), code.end(), [&](const auto& mapping) {
    return address >= mapping.begin && address < mapping.end;
  });
  ASSERT_NE(own, code.end());
  EXPECT_TRUE(std::filesystem::equivalent(own->path, "/proc/self/exe")) << own->path;
  EXPECT_EQ(mapped_file(inside), own->path);
  EXPECT_EQ(own->build_id, build_id(inside));
  EXPECT_EQ(mapped_file(nullptr), "");
}

}  // namespace
}  // namespace plumb::engine
