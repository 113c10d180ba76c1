// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace plumb {

/// Is one cell of a table on a page.
struct HtmlCell {
  std::string text;
  std::string link;     ///< address within this server; empty: none
  bool number = false;  ///< stands to the right
  bool code = false;    ///< stands as it would be typed
  std::string drawing;  ///< SVG made by us, shown instead of the text; empty: none
  std::string style;    ///< a class of the style sheet: "word bad"; empty: none
  std::string choice;   ///< name of a radio button in front, whose value is `value`; empty: none
  std::string value;
  bool chosen = false;
};

[[nodiscard]] HtmlCell text_cell(std::string text);
[[nodiscard]] HtmlCell number_cell(std::string text);
[[nodiscard]] HtmlCell link_cell(std::string text, std::string address);
[[nodiscard]] HtmlCell code_cell(std::string text);
[[nodiscard]] HtmlCell drawing_cell(std::string svg);

/// Says how a verdict stands out.
enum class Tone { kGood, kWarning, kBad };
[[nodiscard]] HtmlCell word_cell(std::string text, Tone tone);

/// Builds a page without scripts, in the style of the HTML report. All text is escaped.
class HtmlPage {
 public:
  explicit HtmlPage(const std::string& title);

  void heading(const std::string& text);
  void subheading(const std::string& text);
  void paragraph(const std::string& text);
  /// Adds text that stands out.
  void verdict(const std::string& strong, const std::string& text, Tone tone);
  /// Adds a line for a name by hand.
  void signature_line(const std::string& text);
  /// Adds a picture made by us: SVG, and elements around it.
  void drawing(const std::string& svg);
  void link(const std::string& text, const std::string& address);
  void table(const std::vector<HtmlCell>& head, const std::vector<std::vector<HtmlCell>>& rows);
  /// Begins and ends a form that sends what is chosen inside it to an address of this server.
  void begin_form(const std::string& address);
  void end_form(const std::string& button);

  /// Writes the whole page.
  void write(std::ostream& out) const;

 private:
  void cell(const char* element, const HtmlCell& cell);

  std::string title_;
  std::string body_;
};

}  // namespace plumb
