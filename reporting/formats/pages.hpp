// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <iosfwd>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "reporting/document/page.hpp"

namespace plumb::reporting {

/// HTML page without scripts. All text is escaped.
class HtmlPage : public Page {
 public:
  /// Files that pages are made of, embedded at build time.
  struct Files {
    /// Parts of a page that opens offline.
    struct Parts {
      std::string_view title;  ///< escaped
      std::string_view body;   ///< elements; nothing from outside is markup in them
      const nlohmann::ordered_json& data;
      std::string_view script;  ///< that draws the data
    };

    std::string_view html;  ///< with @@TITLE@@, @@CSS@@, @@BODY@@, @@DATA@@ …
    std::string_view css;
    std::string_view plots_css;  ///< of pages that hold pictures without a script
    std::string_view report_script;
    std::string_view dashboard_script;
    std::string_view triage_script;  ///< of the page where changes are decided about
    std::string_view charts;         ///< Chart.js, minified
    std::string_view licence;        ///< of Chart.js
  };

  explicit HtmlPage(const std::string& title);

  void heading(const std::string& text) override;
  void subheading(const std::string& text) override;
  void paragraph(const std::string& text) override;
  void list(const std::vector<std::string>& items) override;
  void command(const std::string& what, const std::string& command) override;
  void verdict(const std::string& strong, const std::string& text, PageCell::Tone tone) override;
  void signature_line(const std::string& text) override;
  void drawing(const std::string& svg) override;
  /// Begins a part under a heading. It is always open.
  void begin_fold(const std::string& title, bool /*open*/) override { heading(title); }
  void end_fold() override {}
  void link(const std::string& text, const std::string& address);
  using Page::table;
  void table(const PageTable& table) override;
  [[nodiscard]] Extent extent() const override { return Extent::kPage; }
  /// Begins a form, and end_form() ends it. What is chosen inside it is sent to an address of this
  /// server.
  void begin_form(const std::string& address);
  void end_form(const std::string& button);

  /// Adds a script of this server. It may ask this server alone.
  void script(const std::string& address);

  /// Writes the whole page.
  void write(std::ostream& out) const;

 protected:
  std::string title_;  ///< escaped
  std::string body_;

 private:
  void cell(const char* element, const PageCell& cell);

  std::string script_policy_;  ///< part of the content security policy; empty: no scripts
};

[[nodiscard]] HtmlPage::Files embedded_page();

/// Writes one page. Nothing of its data is parsed as markup.
void write_page(const HtmlPage::Files::Parts& parts, std::ostream& out);

/// HTML page with a script: it draws charts, sorts and filters tables, and copies commands. Without
/// it, all but the charts can be read.
class ChartPage : public HtmlPage {
 public:
  using HtmlPage::HtmlPage;

  void chart(const std::string& label,
             int height,
             const char* drawing,
             const nlohmann::ordered_json& data) override;
  void begin_fold(const std::string& title, bool open) override;
  void end_fold() override;

  /// Writes the whole page. It opens offline, and a content security policy lets it load nothing.
  void write(std::ostream& out) const;

 private:
  nlohmann::ordered_json charts_ = nlohmann::ordered_json::array();
};

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
  void verdict(const std::string& strong,
               const std::string& text,
               PageCell::Tone /*tone*/) override {
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
  void verdict(const std::string& strong, const std::string& text, PageCell::Tone tone) override;
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
