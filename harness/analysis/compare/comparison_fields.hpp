// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "harness/analysis/compare/attribution.hpp"
#include "harness/analysis/compare/metric_comparison.hpp"
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
inline constexpr std::array kFloorSources{MetricComparison::Floor::Source::kFixed,
                                          MetricComparison::Floor::Source::kCalibrated,
                                          MetricComparison::Floor::Source::kLearned,
                                          MetricComparison::Floor::Source::kAssumed};

template <typename Fields>
void describe(Fields& fields, Described<Fields, MetricComparison::Cause>& value) {
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

/// Fields of an explanation by functions, for all documents that hold one. For .cpp files only, as
/// json_object.hpp.

namespace plumb::analysis {

template <typename Fields>
void describe(Fields& fields, results::Described<Fields, FunctionFinding::Part>& value) {
  fields("function", value.function);
  fields("image", value.image);
  fields("step", value.step);
  fields("change_seconds", value.change);
  fields.interval_if(true, "interval", value.low, value.high);
  fields("in_baseline", value.in_baseline);
  fields("in_candidate", value.in_candidate);
}

template <typename Fields>
void describe(Fields& fields, results::Described<Fields, FunctionFinding>& value) {
  const bool explained = value.problem.empty();
  fields("series", value.series);
  fields("model", value.model);
  fields("mode", value.mode);
  fields.since("measured_mode", value.measured_mode);
  fields("layer", value.layer);
  fields.since("control", value.control);
  fields("ratio", value.ratio);
  fields("ratio_low", value.low);
  fields("ratio_high", value.high);
  fields("baseline_samples", value.baseline_samples);
  fields("candidate_samples", value.candidate_samples);
  fields("problem", value.problem);
  fields.known_if(explained, "baseline_seconds", value.baseline);
  fields.known_if(explained, "candidate_seconds", value.candidate);
  fields("change_low_seconds", value.change_low);
  fields("change_high_seconds", value.change_high);
  fields.since("interval_of", value.interval_of);
  fields.derived("disagrees", [&] { return value.disagrees(); });
  fields.derived("unexplained_seconds",
                 [&] { return explained ? std::optional(value.unexplained()) : std::nullopt; });
  fields("parts", value.parts, {.elements = 100'000});
}

}  // namespace plumb::analysis
