// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <prometheus/metric_family.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/analysis/history/control_class.hpp"
#include "reporting/prometheus/gauge_family.hpp"

namespace plumb::reporting {

/// Present health of one host, with what its newest run measured.
struct HostMetrics {
  analysis::HostHealth health;
  std::string device;  ///< see device_name()
  std::string suite;   ///< of the newest run
  std::string stack;
};

/// Makes the metrics of hosts. Families without a metric are left out. Pure.
[[nodiscard]] std::vector<prometheus::MetricFamily> host_families(
    std::span<const HostMetrics> hosts);

}  // namespace plumb::reporting
