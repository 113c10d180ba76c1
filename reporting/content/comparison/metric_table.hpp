// SPDX-License-Identifier: Apache-2.0
// Private to reporting: the metrics of a comparison on a page.
#pragma once

#include <map>
#include <span>
#include <string>

#include "reporting/content/comparison/metric_rows.hpp"
#include "reporting/document/page.hpp"

namespace plumb::reporting {

[[nodiscard]] Tone tone_of(analysis::ComparisonVerdict verdict);

/// Adds a table of metrics whose rows make a forest plot. `places` has the place of each layer key.
/// Layers are shown with the command that measures them again. A terminal's table has no causes.
void add_metric_table(const MetricList& metrics,
                      const std::map<std::string, std::string>& places,
                      Page& page);

/// Adds the metrics of models, what changed, and the first layers without a change, then the
/// largest causes.
void add_short_metrics(std::span<const analysis::MetricComparison> metrics,
                       const std::map<std::string, std::string>& places,
                       Page& page);

}  // namespace plumb::reporting
