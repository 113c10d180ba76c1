// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "reporting/prometheus/gauge_family.hpp"
#include "reporting/prometheus/suite_metrics.hpp"

namespace plumb::reporting {

/// Metrics of one model from its newest run. Refers to the SuiteMetrics it came from.
struct ModelMetrics {
  MetricLabels labels;  ///< that all its metrics have
  const analysis::ModelBounds* bounds = nullptr;
  const analysis::ModelWhatIfs* whatifs = nullptr;
  const ModelTimes* times = nullptr;
  std::vector<const analysis::ModelRegression*> regressions;
};
/// Lists each model once, with the values of the run that started last.
[[nodiscard]] std::vector<ModelMetrics> list_model_metrics(std::span<const SuiteMetrics> suites);

/// Lists the metrics that each model has.
[[nodiscard]] std::span<const MetricRow<ModelMetrics>> model_metric_table();

/// Lists the metrics of a model's loads by MLPerf's scenarios.
[[nodiscard]] std::span<const MetricRow<ModelMetrics>> load_metric_table();

}  // namespace plumb::reporting
