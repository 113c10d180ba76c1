// SPDX-License-Identifier: Apache-2.0
#pragma once

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

}  // namespace plumb::reporting
