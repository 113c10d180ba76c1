// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "reporting/document/page.hpp"

namespace plumb::reporting {

/// Table for a terminal: columns as wide as their widest cell, numbers to the right.
class AlignedTable {
 public:
  struct Column {
    std::string title;
    bool right = false;
  };

  explicit AlignedTable(std::vector<Column> columns);
  /// Adds a row of as many cells as there are columns. The cells go through sanitize_utf8().
  void add(std::vector<std::string> cells);
  void write(std::ostream& out) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// Writes the head and the rows of a page's table for a terminal.
void write_aligned(const PageTable& table, std::ostream& out);

}  // namespace plumb::reporting
