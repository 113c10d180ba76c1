// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/analysis/explain/function_finding.hpp"
#include "harness/results/json_fields.hpp"

/// Fields of an explanation by functions, for all documents that hold one. For .cpp files only, as
/// json_object.hpp.
namespace plumb::analysis {

template <typename Fields>
void describe(Fields& fields, results::Described<Fields, FunctionPart>& value) {
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
