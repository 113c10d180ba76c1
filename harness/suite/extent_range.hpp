// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plumb::suite {

inline constexpr std::int64_t kMaxBatch = 1'000'000;
inline constexpr std::int64_t kMaxExtent = std::int64_t{1} << 40U;
/// Most entries of a suite. No suite needs more, and a typing error in a range must not make a
/// million.
inline constexpr std::size_t kMaxSuiteEntries = 10'000;

/// Range of extents: from one to another by a step, both included.
struct ExtentRange {
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::string step{};  ///< "x2": times 2, or "+64": 64 more
};

/// Returns from, from × k, … or from, from + k, … up to `to`. Throws Error{kUser} for a step that
/// is none, and for more than kMaxSuiteEntries extents. `name` is the range's name in messages.
[[nodiscard]] std::vector<std::int64_t> expand(const ExtentRange& range, std::string_view name);

/// Parses the value of an option: numbers and ranges, separated by commas. "1,8", "128..1024" (by
/// "x2"), "128..1024:+64", and what a suite says: `{from = 128, to = 1024, step = "x2"}`.
///
/// Throws Error{kUser} that begins with `name` for anything else, and for numbers outside of 1 to
/// `maximum`.
[[nodiscard]] std::vector<ExtentRange> parse_ranges(std::string_view text,
                                                    const std::string& name,
                                                    std::int64_t maximum);

}  // namespace plumb::suite
