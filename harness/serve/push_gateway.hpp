// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plumb::serve {

/// Labels that name a group of metrics in a Pushgateway, in order, the job first.
using GroupingKey = std::vector<std::pair<std::string, std::string>>;

/// Returns whether Prometheus accepts a label of this name.
[[nodiscard]] bool is_label_name(std::string_view name);

/// Returns the path of a group in a Pushgateway: "/metrics/job/plumb/suite/quick". A value that a
/// path cannot hold is in base64, as the gateway's interface requires.
[[nodiscard]] std::string group_path(const GroupingKey& group);

/// Replaces all metrics of a group in the gateway at `url`, which is http or https. Redirections
/// are not followed. Throws Error{kUser} for another URL, and Error{kEnvironment} with the
/// gateway's words if it cannot be reached or refuses.
void push_to_gateway(const std::string& url, const GroupingKey& group, const std::string& text);

}  // namespace plumb::serve
