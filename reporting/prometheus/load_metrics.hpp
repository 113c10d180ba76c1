// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "reporting/prometheus/model_metrics.hpp"

namespace plumb::reporting {

/// Lists the metrics of a model's loads by MLPerf's scenarios.
[[nodiscard]] std::span<const MetricRow<ModelMetrics>> load_metric_table();

}  // namespace plumb::reporting
