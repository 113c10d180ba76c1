// SPDX-License-Identifier: Apache-2.0
#include <sstream>

#include "reporting/document/page.hpp"

namespace plumb::reporting {
namespace {

TEST(AlignedTable, aligns_numbers_right_and_counts_code_points) {
  AlignedTable table({{"name"}, {"time", true}});
  table.add({"a", "1 µs"});
  table.add({"long name", "100 s"});
  std::ostringstream out;
  table.write(out);
  EXPECT_EQ(out.str(), "name        time\na           1 µs\nlong name  100 s\n");
}

TEST(AlignedTable, makes_cells_printable) {
  AlignedTable table({{"name"}});
  table.add({"a\x1b[31mb"});
  std::ostringstream out;
  table.write(out);
  EXPECT_EQ(out.str(), "name\na?[31mb\n");
}

}  // namespace
}  // namespace plumb::reporting
