// SPDX-License-Identifier: Apache-2.0
#include "reporting/aligned_table.hpp"

#include <sstream>

namespace plumb {
namespace {

TEST(AlignedTable, aligns_numbers_right_and_counts_code_points) {
  AlignedTable table({{"name"}, {"time", true}});
  table.add({"a", "1 µs"});
  table.add({"long name", "100 s"});
  std::ostringstream out;
  table.write(out);
  EXPECT_EQ(out.str(), "name        time\na           1 µs\nlong name  100 s\n");
}

TEST(AlignedTable, keeps_control_characters_from_the_terminal) {
  EXPECT_EQ(printable("a\x1b[31mb\nc\x7f"), "a?[31mb?c?");
}

}  // namespace
}  // namespace plumb
