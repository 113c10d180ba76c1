// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "reporting/content/run/report.hpp"
#include "reporting/prometheus/metric_families.hpp"

namespace plumb::reporting {

/// Name that tries every way out of HTML, a script, Markdown, XML and a terminal at once.
extern const std::string kHostileName;

/// Makes the report of a finished run: one model of four layers, each timed (a convolution of
/// 2 ms, a Relu of 0.5 ms, a view, a product of 1 ms), with known bounds and what-ifs.
[[nodiscard]] analysis::RunReport sample_report();

/// Makes the same run with the product crashed, the Relu never tried, every name hostile.
[[nodiscard]] analysis::RunReport hostile_report();

/// Writes a report in the format that the extension chooses.
[[nodiscard]] std::string written(const analysis::RunReport& report, const std::string& extension);

/// Makes a series whose newest run a report is of, with the two slowest layers.
[[nodiscard]] SuiteMetrics suite_of(analysis::RunReport report);

/// Returns a page's data: the text between its opening tag and the next "</script>", as a browser
/// finds it.
[[nodiscard]] std::string data_of(const std::string& page);

/// Tells whether text is valid UTF-8 without control characters other than tab and new line.
[[nodiscard]] bool is_clean_utf8(const std::string& text);

}  // namespace plumb::reporting
