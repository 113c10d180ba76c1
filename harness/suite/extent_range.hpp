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

}  // namespace plumb::suite
