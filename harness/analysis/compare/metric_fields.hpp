// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "harness/analysis/compare/metric_test.hpp"
#include "harness/results/json_fields.hpp"

/// Fields of a compared metric, for all documents that hold one. For .cpp files only, as
/// json_object.hpp.
namespace plumb::analysis {

using results::Described;

inline constexpr std::array kVerdicts{ComparisonVerdict::kBroken,
                                      ComparisonVerdict::kRegressed,
                                      ComparisonVerdict::kImproved,
                                      ComparisonVerdict::kEquivalent,
                                      ComparisonVerdict::kInconclusive};
inline constexpr std::array kMetricKinds{MetricKind::kEndToEnd,
                                         MetricKind::kLayer,
                                         MetricKind::kCapability,
                                         MetricKind::kBound,
                                         MetricKind::kLoad,
                                         MetricKind::kAlternation,
                                         MetricKind::kCost,
                                         MetricKind::kAccuracy,
                                         MetricKind::kControl,
                                         MetricKind::kReplay,
                                         MetricKind::kOverall};
inline constexpr std::array kFloorSources{
    FloorSource::kFixed, FloorSource::kCalibrated, FloorSource::kLearned, FloorSource::kAssumed};

template <typename Fields>
void describe(Fields& fields, Described<Fields, Cause>& value) {
  fields("cause", value.cause);
  fields("share", value.share);
  fields("evidence", value.evidence);
}

/// Describes the times of a metric's two sides and their ratio, null where they are not compared.
template <typename Fields>
void describe_change(Fields& fields, Described<Fields, MetricComparison>& value) {
  const bool compared = value.ratio.has_value();
  const bool timed = compared && !value.in_bytes;
  fields.known_if(timed, "baseline_seconds", value.baseline);
  fields.known_if(timed, "candidate_seconds", value.candidate);
  fields("ratio", value.ratio);
  fields.interval_if(compared && value.has_interval, "interval", value.low, value.high);
  fields("q", value.q);
}

/// Describes the minimum effect of a metric, which stands beside its other fields.
template <typename Fields>
void describe_floor(Fields& fields, Described<Fields, MetricComparison>& value) {
  if constexpr (Fields::kReads) {
    if (!fields.has("floor")) {
      return;
    }
    value.floor.emplace();
  }
  if (value.floor) {
    fields("floor", value.floor->relative);
    fields("floor_source", value.floor->source, kFloorSources);
  }
}

}  // namespace plumb::analysis
