// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plumb::serve {

/// Decoded target of a request.
struct RequestTarget {
  std::vector<std::string> path;  ///< segments; none for "/"
  std::multimap<std::string, std::string> query;

  /// Returns the first value of a name; empty if there is none.
  [[nodiscard]] std::string value(const std::string& name) const;
};

/// Reads the target of a request: a path and perhaps a query, at most 4,096 bytes and 32 parts.
/// Absent: it is not one, or has an empty segment, control characters or a wrong escape.
[[nodiscard]] std::optional<RequestTarget> parse_request_target(std::string_view text);

}  // namespace plumb::serve
