// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace plumb {

/// Reads the names of a device's metrics, with ',' between: letters, digits, '_' and '.', with how
/// each is summed up ("sm__inst_executed.sum"), each once. Throws Error{kUser} that names the wrong
/// one.
[[nodiscard]] std::vector<std::string> parse_metric_names(const std::string& text);

/// Bounds how many there can be: they become readings of a row.
inline constexpr std::size_t kMostMetrics = 24;

}  // namespace plumb
