// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "harness/analyze/bounds.hpp"
#include "harness/analyze/single_layer.hpp"
#include "harness/analyze/what_if.hpp"
#include "harness/results/run.hpp"
#include "reporting/output_format.hpp"

namespace plumb {

/// Contents of a report on one model of a run.
struct ModelReport {
  Graph graph;
  ModelBounds bounds;
  ModelWhatIfs whatifs;
};

/// Contents of a report on a run. It is a value; every format renders the same one.
struct RunReport {
  RunRecord run;
  std::vector<ModelReport> models;
  std::vector<SingleLayerResult> layers;  ///< that the suite lists by themselves
  std::vector<StoredMeasurement> rows;
  std::optional<Calibration> calibration;
  Timestamp now{};  ///< injected: ages of reused rows are relative to it
};

using ReportFormat = OutputFormat<RunReport>;
[[nodiscard]] std::span<const ReportFormat> report_formats();

}  // namespace plumb
