// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>

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

}  // namespace plumb::analysis
