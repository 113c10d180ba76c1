// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "reporting/prometheus/gauge_family.hpp"
#include "reporting/prometheus/metric_families.hpp"

namespace plumb {

/// Metrics of one model from its newest run. Refers to the SuiteMetrics it came from.
struct ModelMetrics {
  MetricLabels labels;  ///< that all its metrics have
  const ModelBounds* bounds = nullptr;
  const ModelWhatIfs* whatifs = nullptr;
  const ModelTimes* times = nullptr;
  std::vector<const ModelRegression*> regressions;
};
/// Lists each model once, with the values of the run that started last.
[[nodiscard]] std::vector<ModelMetrics> model_metrics_of(std::span<const SuiteMetrics> suites);

/// Lists the metrics that each model has.
[[nodiscard]] std::span<const MetricRow<ModelMetrics>> model_metric_table();

}  // namespace plumb
