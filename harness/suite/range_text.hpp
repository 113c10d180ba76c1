// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/suite/extent_range.hpp"

namespace plumb::suite {

/// Parses the value of an option: numbers and ranges, separated by commas. "1,8", "128..1024" (by
/// "x2"), "128..1024:+64", and what a suite says: `{from = 128, to = 1024, step = "x2"}`.
///
/// Throws Error{kUser} that begins with `name` for anything else, and for numbers outside of 1 to
/// `maximum`.
[[nodiscard]] std::vector<ExtentRange> parse_ranges(std::string_view text,
                                                    const std::string& name,
                                                    std::int64_t maximum);

}  // namespace plumb::suite
