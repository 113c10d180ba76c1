// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <span>

#include "harness/base/timestamp.hpp"
#include "reporting/prometheus/host_metrics.hpp"

namespace plumb::reporting {

/// Writes the page `/hosts`: each host that measures, with the age of its newest run and the state
/// of its controls. Those that left their class come first.
void write_hosts_page(std::span<const HostMetrics> hosts, Timestamp now, std::ostream& out);

}  // namespace plumb::reporting
