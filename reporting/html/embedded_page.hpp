// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace plumb::reporting {

/// Files that pages are made of, embedded at build time.
struct EmbeddedPage {
  std::string_view html;  ///< with @@TITLE@@, @@CSS@@, @@BODY@@, @@DATA@@ …
  std::string_view css;
  std::string_view plots_css;  ///< of pages that hold pictures without a script
  std::string_view report_script;
  std::string_view dashboard_script;
  std::string_view triage_script;  ///< of the page where changes are decided about
  std::string_view charts;         ///< Chart.js, minified
  std::string_view licence;        ///< of Chart.js
};
[[nodiscard]] EmbeddedPage embedded_page();

}  // namespace plumb::reporting
