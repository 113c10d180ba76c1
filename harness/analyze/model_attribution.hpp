// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>

#include "harness/analyze/qualification.hpp"
#include "harness/results/paired_round.hpp"

namespace plumb {

/// Splits the end-to-end change of one model in one mode over the layers as they were executed
/// inside it, round by round: trimmed means of the differences with their standard errors. Layers
/// are matched by key; what only one side executed, reorders, and what no layer explains (launches,
/// gaps, caches) are terms of their own. Absent: fewer than three rounds have both sides' layers.
/// Pure.
[[nodiscard]] std::optional<ModelAttribution> attribute_model(
    std::span<const PairedRound* const> rounds, const ModelMode& model);

/// Splits likewise the difference of two single executions. Their errors come from `deviation`, the
/// relative one of a process, on both sides of each term; that of the unexplained takes all terms
/// as independent, so it is an upper limit. Absent: one of them has no time or tells no layers.
/// Pure.
[[nodiscard]] std::optional<ModelAttribution> attribute_model(const std::string& subject,
                                                              const Execution& before,
                                                              const Execution& after,
                                                              double deviation);

}  // namespace plumb
