// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace plumb::worker {

/// Parses names of a device's metrics, separated by ','. A name has letters, digits, '_' and '.',
/// and ends with how it is summed up ("sm__inst_executed.sum"). Each may be given once. Throws
/// Error{kUser} that names the wrong one.
[[nodiscard]] std::vector<std::string> parse_metric_names(const std::string& text);

/// Limit of the number of metrics: they become readings of a row.
inline constexpr std::size_t kMaxMetrics = 24;

}  // namespace plumb::worker
