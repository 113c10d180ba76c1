// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "reporting/prometheus/suite_metrics.hpp"

namespace plumb::reporting {

/// Lists the metrics of what the newest run of a series read of its device. A device without
/// readings has none of them.
[[nodiscard]] std::span<const MetricRow<SuiteMetrics>> device_metric_table();

}  // namespace plumb::reporting
