// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/analyze/bounds.hpp"
#include "harness/analyze/single_layer.hpp"
#include "harness/analyze/what_if.hpp"
#include "harness/results/run.hpp"

namespace plumb {

/// Is everything a report says about one model of a run.
struct ModelReport {
  Graph graph;
  ModelBounds bounds;
  ModelWhatIfs whatifs;
};

/// Is everything a report says: a value; every format renders the same one.
struct RunReport {
  RunRecord run;
  std::vector<ModelReport> models;
  std::vector<SingleLayerResult> layers;  ///< that the suite lists by themselves
  std::vector<StoredMeasurement> rows;
  std::optional<Calibration> calibration;
  Timestamp now{};  ///< injected: ages of reused rows are relative to it
};

/// Is one output format. A new one is one file and one row of the table.
struct ReportFormat {
  std::string_view extension;  ///< ".html", ".md", ".json", ".xml" (JUnit), ".txt"
  std::string_view what;
  void (*write)(const RunReport& report, std::ostream& out);
};
[[nodiscard]] std::span<const ReportFormat> report_formats();
/// Finds by file extension. Throws Error{kUser} listing those there are.
[[nodiscard]] const ReportFormat& report_format_for(std::string_view file_name);

}  // namespace plumb
