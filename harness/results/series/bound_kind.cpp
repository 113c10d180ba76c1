// SPDX-License-Identifier: Apache-2.0
#include "harness/results/series/bound_kind.hpp"

#include <array>

#include "harness/base/parsed_text.hpp"

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
  return enum_text(kTexts, kind);
}

std::optional<BoundKind> parse_bound_kind(std::string_view text) {
  return parse_enum<BoundKind>(kTexts, text);
}

}  // namespace plumb::results
