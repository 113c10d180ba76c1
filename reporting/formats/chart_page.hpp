// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <nlohmann/json.hpp>
#include <string>

#include "reporting/formats/html_page.hpp"

namespace plumb::reporting {

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
