// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <iosfwd>
#include <string_view>
#include <vector>

namespace plumb::importers {

/// Reads a log line by line, of which it keeps one. What is behind 64 KiB of a line is left out.
void read_lines(std::istream& in, const std::function<void(std::string_view)>& take);

/// Divides a text at each separator, into at most 64 parts.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);

}  // namespace plumb::importers
