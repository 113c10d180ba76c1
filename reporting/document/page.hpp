// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/units.hpp"

namespace plumb::reporting {

/// Places in which a document is read. The nearer the reader looks, the more is told. A text is
/// what a terminal shows where all is asked for, and a file of it.
enum class Extent { kTerminal, kComment, kText, kPage };

/// One cell of a table on a page.
struct PageCell {
  /// Tones in which a verdict is highlighted.
  enum class Tone { kGood, kWarning, kBad };

  std::string text;
  std::string link;     ///< address within this server, or of a commit; empty: none
  bool number = false;  ///< aligned to the right
  bool code = false;    ///< shown as code
  bool key = false;     ///< of code: the key of a layer, which a command measures again
  std::string drawing;  ///< SVG made by plumb, shown above the text; empty: none
  std::string style;    ///< a class of the style sheet: "word bad"; empty: none
  std::string choice;   ///< name of a radio button in front, whose value is `value`; empty: none
  std::string value;
  bool chosen = false;
  std::optional<double> quantity;    ///< that rows are sorted by; absent: by the text
  Extent least = Extent::kTerminal;  ///< of a head: the first of the places that show the column
};

[[nodiscard]] PageCell text_cell(std::string text);
[[nodiscard]] PageCell number_cell(std::string text);
[[nodiscard]] PageCell link_cell(std::string text, std::string address);
[[nodiscard]] PageCell code_cell(std::string text);
[[nodiscard]] PageCell drawing_cell(std::string svg, std::string text);
/// Makes a cell of a layer's key. Empty: a dash.
[[nodiscard]] PageCell key_cell(std::string key);
/// Makes a cell of a number that `text` writes. Absent: a dash.
[[nodiscard]] PageCell quantity_cell(const std::optional<double>& quantity,
                                     std::string (*text)(double quantity));
[[nodiscard]] PageCell word_cell(std::string text, PageCell::Tone tone);

using PageRow = std::vector<PageCell>;

/// Adds a cell to a row: as it is, of a text, or of a time.
PageRow& operator<<(PageRow& row, PageCell cell);
PageRow& operator<<(PageRow& row, std::string_view text);
PageRow& operator<<(PageRow& row, const std::optional<Seconds>& time);

/// Makes the head of a table from the names of its columns, with bars between them: "layer|#time".
/// A '#' begins the name of a column of numbers. Before it, '*' stands for a column that a terminal
/// leaves out, and '+' for one of pages alone.
[[nodiscard]] PageRow head_row(std::string_view names);

/// Table of a page.
struct PageTable {
  PageRow head;
  std::vector<PageRow> rows = {};
  std::string caption = {};  ///< above it; empty: none
  std::string filter = {};   ///< label of a field that filters rows, in pages with a script
  bool listing = false;      ///< rows are lines of code, which keep their order
  bool whole = false;        ///< a comment has as many rows as it can hold
  bool in_order = false;     ///< a terminal has the columns in this order, however long cells are

  /// Adds a row, for its cells.
  PageRow& row() { return rows.emplace_back(); }
};

/// A document under construction, part by part, in some format. The page escapes all text. Only
/// drawings are taken as they are.
class Page {
 public:
  virtual ~Page() = default;

  virtual void heading(const std::string& text) = 0;
  virtual void subheading(const std::string& text) = 0;
  virtual void paragraph(const std::string& text) = 0;
  /// Adds short texts, each on a line of its own.
  virtual void list(const std::vector<std::string>& items) = 0;
  /// Adds a command to copy, behind the words that say what it does.
  virtual void command(const std::string& what, const std::string& command) = 0;
  /// Adds text that stands out.
  virtual void verdict(const std::string& strong, const std::string& text, PageCell::Tone tone) = 0;
  /// Adds a line for a signature by hand.
  virtual void signature_line(const std::string& text) = 0;
  /// Adds a table. A page that cannot draw shows the texts alone.
  virtual void table(const PageTable& table) = 0;
  void table(const PageRow& head, const std::vector<PageRow>& rows) { table({head, rows}); }
  /// Adds a picture made by plumb: SVG, and elements around it. A page that cannot draw leaves it
  /// out.
  virtual void drawing(const std::string& svg) = 0;
  /// Adds a chart that a script draws: by the name of a drawing of `html/`, from its data. `height`
  /// is in pixels; 0: as the drawing needs. A page without a script leaves it out.
  virtual void chart(const std::string& /*label*/,
                     int /*height*/,
                     const char* /*drawing*/,
                     const nlohmann::ordered_json& /*data*/) {}
  /// Begins a part that a reader opens where the format can fold, and end_fold() ends it. It may be
  /// open from the start.
  virtual void begin_fold(const std::string& title, bool open) = 0;
  virtual void end_fold() = 0;
  [[nodiscard]] virtual Extent extent() const = 0;
  /// Returns how many items may have a table of their own.
  [[nodiscard]] std::size_t most_details() const { return extent() == Extent::kPage ? 100 : 10; }
};

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
