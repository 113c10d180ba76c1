// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plumb {

/// Names a group of metrics in a Pushgateway: labels in order, the job first.
using GroupingKey = std::vector<std::pair<std::string, std::string>>;

/// Returns whether Prometheus accepts a label of this name.
[[nodiscard]] bool is_label_name(std::string_view name);

/// Returns the path that a Pushgateway keeps a group under: "/metrics/job/plumb/suite/quick". A
/// value that a path cannot hold is in base64, as the gateway's interface has it.
[[nodiscard]] std::string group_path(const GroupingKey& group);

/// Replaces all metrics of a group. `url` is the gateway's: http or https, nothing is followed.
/// Throws Error{kUser} for another URL, Error{kEnvironment} if the gateway cannot be reached or
/// refuses, with its words.
void push_to_gateway(const std::string& url, const GroupingKey& group, const std::string& text);

}  // namespace plumb
