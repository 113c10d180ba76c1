// SPDX-License-Identifier: Apache-2.0
// Private to reporting: the picture of a Pareto front, as SVG that needs no script.
#pragma once

#include <optional>
#include <string>

#include "harness/analysis/matrix/pareto_front.hpp"

namespace plumb::reporting {

/// Draws throughput over latency, both logarithmic. Batches on the front are filled and joined by
/// steps. A dashed line is the limit. Empty: there are fewer than two points.
[[nodiscard]] std::string pareto_plot(const analysis::ParetoFront& front,
                                      const std::optional<Seconds>& limit);

}  // namespace plumb::reporting
