// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <string_view>
#include <vector>

namespace plumb {

/// Returns whether `text` matches `pattern`, in which '*' stands for any characters. Time: at most
/// proportional to the product of both lengths.
[[nodiscard]] bool matches_pattern(std::string_view pattern, std::string_view text);

/// Counts the insertions, deletions and substitutions that turn `left` into `right` (Levenshtein
/// 1966).
[[nodiscard]] inline std::size_t edit_distance(std::string_view left, std::string_view right) {
  std::vector<std::size_t> row(right.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < left.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < right.size(); ++j) {
      const std::size_t substituted = diagonal + (left[i] == right[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, substituted});
    }
  }
  return row.back();
}

/// Finds the candidate most like `name`; of equals, the first. Empty if there is no candidate. Only
/// the first 256 characters of `name` count, so that hostile names cost little.
template <typename Range>
[[nodiscard]] std::optional<std::string_view> nearest_name(std::string_view name,
                                                           const Range& candidates) {
  std::optional<std::string_view> best;
  std::size_t best_distance = 0;
  name = name.substr(0, 256);
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(name, candidate);
    if (!best || distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace plumb
