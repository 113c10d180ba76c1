// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "harness/analysis/bounds/bounds.hpp"
#include "harness/analysis/bounds/single_layer.hpp"
#include "harness/analysis/whatif/what_if.hpp"
#include "harness/results/run.hpp"

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

}  // namespace plumb
