// SPDX-License-Identifier: Apache-2.0
#include "harness/analysis/trace/trace_finding.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "harness/base/error.hpp"

namespace plumb::analysis {
namespace {

using Kind = TraceFinding::Kind;

constexpr std::array kTexts{std::pair{Kind::kMissedFusion, "missed fusion"},
                            std::pair{Kind::kReorder, "reorder"},
                            std::pair{Kind::kWeightReorder, "weights reordered"},
                            std::pair{Kind::kPad, "pad"},
                            std::pair{Kind::kCopy, "copy"},
                            std::pair{Kind::kWait, "wait"},
                            std::pair{Kind::kCreation, "kernel made"},
                            std::pair{Kind::kRecompilation, "recompilation"},
                            std::pair{Kind::kSlowerVariant, "slower variant"},
                            std::pair{Kind::kLowerPrecision, "lower precision"},
                            std::pair{Kind::kHigherPrecision, "higher precision"},
                            std::pair{Kind::kGap, "gap"},
                            std::pair{Kind::kOversubscribed, "threads oversubscribed"},
                            std::pair{Kind::kNotMatched, "not matched"},
                            std::pair{Kind::kFusion, "fusion"}};

}  // namespace

std::string_view to_text(TraceFinding::Kind kind) {
  const auto* const row = std::find_if(
      kTexts.begin(), kTexts.end(), [&](const auto& each) { return each.first == kind; });
  PLUMB_CHECK(row != kTexts.end());
  return row->second;
}

bool is_loss(TraceFinding::Kind kind) {
  return kind != Kind::kFusion && kind != Kind::kNotMatched && kind != Kind::kLowerPrecision;
}

Seconds compute_gain(const TraceFinding& finding) {
  switch (finding.kind) {
    case Kind::kMissedFusion:
    case Kind::kReorder:
    case Kind::kWeightReorder:
    case Kind::kPad:
    case Kind::kCopy:
    case Kind::kWait:
    case Kind::kCreation:
    case Kind::kSlowerVariant:
    case Kind::kGap:
      return finding.minor ? Seconds(0.0) : finding.time;
    case Kind::kLowerPrecision:
    case Kind::kHigherPrecision:  // some of its time, but nobody measured how much
    case Kind::kOversubscribed:
    case Kind::kRecompilation:  // of the mean execution, and gains are of the median one
    case Kind::kNotMatched:
    case Kind::kFusion:
      break;
  }
  return Seconds(0.0);
}

}  // namespace plumb::analysis
