// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace plumb::reporting {

/// One cell of a table on a page.
struct PageCell {
  std::string text;
  std::string link;     ///< address within this server, or of a commit; empty: none
  bool number = false;  ///< aligned to the right
  bool code = false;    ///< shown as code
  std::string drawing;  ///< SVG made by plumb, shown above the text; empty: none
  std::string style;    ///< a class of the style sheet: "word bad"; empty: none
  std::string choice;   ///< name of a radio button in front, whose value is `value`; empty: none
  std::string value;
  bool chosen = false;
};

[[nodiscard]] PageCell text_cell(std::string text);
[[nodiscard]] PageCell number_cell(std::string text);
[[nodiscard]] PageCell link_cell(std::string text, std::string address);
[[nodiscard]] PageCell code_cell(std::string text);
[[nodiscard]] PageCell drawing_cell(std::string svg, std::string text);

/// Tones in which a verdict is highlighted.
enum class Tone { kGood, kWarning, kBad };
[[nodiscard]] PageCell word_cell(std::string text, Tone tone);

using PageRow = std::vector<PageCell>;

/// Places in which a document is read. The nearer the reader looks, the more is told.
enum class Extent { kTerminal, kComment, kPage };

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
  virtual void verdict(const std::string& strong, const std::string& text, Tone tone) = 0;
  /// Adds a line for a signature by hand.
  virtual void signature_line(const std::string& text) = 0;
  /// Adds a table. A page that cannot draw shows the texts alone.
  virtual void table(const PageRow& head, const std::vector<PageRow>& rows) = 0;
  /// Adds a picture made by plumb: SVG, and elements around it. A page that cannot draw leaves it
  /// out.
  virtual void drawing(const std::string& svg) = 0;
  /// Begins a part that a reader opens where the format can fold, and end_fold() ends it.
  virtual void begin_fold(const std::string& title) = 0;
  virtual void end_fold() = 0;
  [[nodiscard]] virtual Extent extent() const = 0;
  /// Returns how many items may have a table of their own.
  [[nodiscard]] std::size_t most_details() const { return extent() == Extent::kPage ? 100 : 10; }
};

}  // namespace plumb::reporting
