// SPDX-License-Identifier: Apache-2.0
#include "reporting/formats/chart_page.hpp"

#include <fmt/format.h>

#include "reporting/document/escape_xml.hpp"
#include "reporting/html/embedded_page.hpp"
#include "reporting/html/page_writer.hpp"

namespace plumb::reporting {

void ChartPage::chart(const std::string& label,
                      int height,
                      const char* drawing,
                      const nlohmann::ordered_json& data) {
  body_ += fmt::format("<div class=\"chart\" data-chart=\"{}\"></div>\n", charts_.size());
  charts_.push_back({{"drawing", drawing}, {"label", label}, {"height", height}, {"data", data}});
}

void ChartPage::begin_fold(const std::string& title, bool open) {
  body_ +=
      fmt::format("<details{}><summary>{}</summary>\n", open ? " open" : "", escape_xml(title));
}

void ChartPage::end_fold() {
  body_ += "</details>\n";
}

void ChartPage::write(std::ostream& out) const {
  write_page({title_, body_, charts_, embedded_page().report_script}, out);
}

}  // namespace plumb::reporting
