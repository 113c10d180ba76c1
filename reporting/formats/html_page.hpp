// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "reporting/document/page.hpp"

namespace plumb::reporting {

/// HTML page without scripts. All text is escaped.
class HtmlPage : public Page {
 public:
  explicit HtmlPage(const std::string& title);

  void heading(const std::string& text) override;
  void subheading(const std::string& text) override;
  void paragraph(const std::string& text) override;
  void list(const std::vector<std::string>& items) override;
  void command(const std::string& what, const std::string& command) override;
  void verdict(const std::string& strong, const std::string& text, Tone tone) override;
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

}  // namespace plumb::reporting
