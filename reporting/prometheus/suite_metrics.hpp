// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "reporting/prometheus/gauge_family.hpp"
#include "reporting/prometheus/metric_families.hpp"

namespace plumb::reporting {

/// Adds the labels that all metrics of a series of runs have.
[[nodiscard]] MetricLabels suite_labels(const SuiteMetrics& suite);

/// Lists the series that have a finished run, the last started first.
[[nodiscard]] std::vector<const SuiteMetrics*> newest_first(std::span<const SuiteMetrics> suites);

/// Lists the metrics that each series of runs has.
[[nodiscard]] std::span<const MetricRow<SuiteMetrics>> suite_metric_table();

/// Returns a family with the environments, or the stacks, of the newest runs, each once. Their
/// facts can be joined on.
[[nodiscard]] GaugeFamily environment_info(std::span<const SuiteMetrics> suites);
[[nodiscard]] GaugeFamily stack_info(std::span<const SuiteMetrics> suites);

}  // namespace plumb::reporting
