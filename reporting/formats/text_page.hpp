// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "reporting/document/page.hpp"

namespace plumb::reporting {

/// Text for a terminal. All of it goes through sanitize_utf8(). Columns with long cells come last,
/// so that a line's numbers stand together.
class TextPage : public Page {
 public:
  TextPage() = default;
  explicit TextPage(const std::string& title) { line(title); }

  void heading(const std::string& text) override { line("\n", text); }
  void subheading(const std::string& text) override { line("\n", text); }
  void paragraph(const std::string& text) override { line(text); }
  void list(const std::vector<std::string>& items) override;
  void command(const std::string& what, const std::string& command) override {
    line(what + ": " + command);
  }
  void verdict(const std::string& strong, const std::string& text, Tone /*tone*/) override {
    line(strong + " " + text);
  }
  void signature_line(const std::string& text) override { line(text + ": _____________"); }
  using Page::table;
  void table(const PageTable& table) override;
  void drawing(const std::string& /*svg*/) override {}
  void begin_fold(const std::string& title, bool /*open*/) override { heading(title); }
  void end_fold() override {}
  [[nodiscard]] Extent extent() const override { return Extent::kTerminal; }

  void write(std::ostream& out) const { out << text_; }

 private:
  void line(const std::string& text) { line("", text); }
  void line(const char* before, const std::string& text);

  std::string text_;
};

}  // namespace plumb::reporting
