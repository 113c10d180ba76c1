// SPDX-License-Identifier: Apache-2.0
#include "harness/results/series/bound_kind.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace plumb::results {
namespace {

constexpr std::array<std::string_view, 12> kTexts{"hardware",
                                                  "hardware_update",
                                                  "library",
                                                  "library_parallel",
                                                  "predicted",
                                                  "layer_sum",
                                                  "sequential",
                                                  "critical_path",
                                                  "occupancy",
                                                  "schedule",
                                                  "benanza_sequential",
                                                  "benanza_parallel"};

}  // namespace

std::string_view to_text(BoundKind kind) {
  return kTexts.at(static_cast<std::size_t>(kind));
}

std::optional<BoundKind> parse_bound_kind(std::string_view text) {
  const auto* const found = std::find(kTexts.begin(), kTexts.end(), text);
  return found == kTexts.end() ? std::nullopt
                               : std::optional(static_cast<BoundKind>(found - kTexts.begin()));
}

}  // namespace plumb::results
