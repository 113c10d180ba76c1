// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace plumb {

/// Is a table for a terminal: columns as wide as their widest cell, numbers to the right.
class AlignedTable {
 public:
  struct Column {
    std::string title;
    bool right = false;
  };

  explicit AlignedTable(std::vector<Column> columns);
  /// Adds a row of as many cells as there are columns. Control characters in cells are shown as
  /// '?'.
  void add(std::vector<std::string> cells);
  void write(std::ostream& out) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// Replaces control characters, so that a name from a file cannot drive the terminal.
[[nodiscard]] std::string printable(const std::string& text);

}  // namespace plumb
