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

/// A document under construction, part by part, in some format. The page escapes all text. Only
/// drawings are taken as they are.
class Page {
 public:
  virtual ~Page() = default;

  virtual void heading(const std::string& text) = 0;
  virtual void subheading(const std::string& text) = 0;
  virtual void paragraph(const std::string& text) = 0;
  /// Adds text that stands out.
  virtual void verdict(const std::string& strong, const std::string& text, Tone tone) = 0;
  /// Adds a line for a signature by hand.
  virtual void signature_line(const std::string& text) = 0;
  /// Adds a table. A page that cannot draw shows the texts alone.
  virtual void table(const PageRow& head, const std::vector<PageRow>& rows) = 0;
  /// Returns how many items may have a table of their own on a page of this kind.
  [[nodiscard]] virtual std::size_t most_details() const = 0;
};

}  // namespace plumb::reporting
