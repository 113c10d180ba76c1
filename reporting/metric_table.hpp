// SPDX-License-Identifier: Apache-2.0
// Private to reporting: the metrics of a comparison on a page.
#pragma once

#include <map>
#include <string>

#include "reporting/metric_rows.hpp"
#include "reporting/page.hpp"

namespace plumb {

[[nodiscard]] Tone tone_of(ComparisonVerdict verdict);

/// Adds a table of metrics whose rows make a forest plot. `places` says where a layer key stands;
/// of a layer the command that measures it again is shown.
void add_metric_table(const MetricList& metrics,
                      const std::map<std::string, std::string>& places,
                      Page& page);

}  // namespace plumb
