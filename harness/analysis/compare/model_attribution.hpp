// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/analysis/compare/comparison_result.hpp"
#include "harness/analysis/compare/finding.hpp"
#include "harness/results/paired_round.hpp"

namespace plumb::analysis {

/// Splits the end-to-end change of one model in one mode over the layers as they were executed
/// inside it. Each round is split; the terms are trimmed means of the differences, with their
/// standard errors. Layers are matched by key. Terms of their own are reorders, layers that only
/// one side executed, and the rest that no layer explains (launches, gaps, caches). Absent: fewer
/// than three rounds have both sides' layers. Pure.
[[nodiscard]] std::optional<ModelAttribution> attribute_model(
    std::span<const results::PairedRound* const> rounds, const results::ModelMode& model);

/// Splits the difference of two single executions in the same way. The errors come from
/// `deviation`, the relative one of a process, on both sides of each term. The error of the
/// unexplained rest takes all terms as independent, so it is an upper limit. Absent: one of them
/// has no time or does not list its layers. Pure.
[[nodiscard]] std::optional<ModelAttribution> attribute_model(const std::string& subject,
                                                              const results::Execution& before,
                                                              const results::Execution& after,
                                                              double deviation);

/// Splits the change of every model that both sides executed over its layers. Adds the splits to
/// the comparison's attributions, and the parts as causes where the model changed. Pure.
void attribute_models(const RunSide& baseline, const RunSide& candidate, RunComparison& result);

/// Groups the layers that got worse by their cause, with the models of the baseline that execute
/// them. Pure.
[[nodiscard]] std::vector<QualificationFinding> group_findings(
    const RunSide& baseline, const std::vector<ComparedLayer>& layers);

}  // namespace plumb::analysis
