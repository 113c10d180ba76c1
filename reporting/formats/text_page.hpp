// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

#include "reporting/document/page.hpp"

namespace plumb::reporting {

/// Text for a terminal, or for a file. All of it goes through sanitize_utf8(). What is folded
/// elsewhere stands indented under its title. Columns with long cells come last, so that a line's
/// numbers stand together.
class TextPage : public Page {
 public:
  explicit TextPage(Extent extent = Extent::kTerminal) : extent_(extent) {}
  explicit TextPage(const std::string& title) { line(title); }

  void heading(const std::string& text) override;
  void subheading(const std::string& text) override { heading(text); }
  void paragraph(const std::string& text) override { line(text); }
  void list(const std::vector<std::string>& items) override;
  void command(const std::string& what, const std::string& command) override;
  void verdict(const std::string& strong, const std::string& text, Tone /*tone*/) override {
    heading(strong + " " + text);
  }
  void signature_line(const std::string& text) override { line(text + ": _____________"); }
  using Page::table;
  void table(const PageTable& table) override;
  void drawing(const std::string& /*svg*/) override {}
  void begin_fold(const std::string& title, bool /*open*/) override;
  void end_fold() override;
  [[nodiscard]] Extent extent() const override { return extent_; }

  void write(std::ostream& out) const { out << text_; }

 private:
  void line(const std::string& text) { line("", text); }
  void line(const char* before, const std::string& text);
  void put(const std::string& line);

  std::string text_;
  std::string indent_;
  bool gap_ = false;  ///< a line stays empty before the next one
  Extent extent_ = Extent::kTerminal;
};

/// Page of GitHub-flavoured Markdown below kMarkdownLimit, so that it fits a comment. A table is
/// cut after its first rows with "and 37 more". Parts that do not fit are counted at the end: each
/// by itself, or all that is folded together.
class MarkdownPage : public Page {
 public:
  explicit MarkdownPage(const std::string& title);

  void heading(const std::string& text) override;
  void subheading(const std::string& text) override;
  void paragraph(const std::string& text) override;
  void list(const std::vector<std::string>& items) override;
  void command(const std::string& what, const std::string& command) override;
  void verdict(const std::string& strong, const std::string& text, Tone tone) override;
  void signature_line(const std::string& text) override;
  using Page::table;
  void table(const PageTable& table) override;

  /// Adds lines made by plumb, such as a picture of characters.
  void preformatted(const std::string& lines);

  void drawing(const std::string& /*svg*/) override {}
  void begin_fold(const std::string& title, bool open) override;
  void end_fold() override;
  [[nodiscard]] Extent extent() const override { return Extent::kComment; }

  /// Writes the whole page.
  void write(std::ostream& out) const;

 private:
  /// Adds a block if `limit` leaves room for it. Otherwise it counts one more that was left out,
  /// and returns false.
  bool add(const std::string& block, std::size_t limit);

  std::string text_;
  std::size_t left_out_ = 0;
  std::size_t fold_begin_ = 0;  ///< where the text of the fold begins; 0: outside of any
  std::size_t left_out_before_fold_ = 0;
};

}  // namespace plumb::reporting
