// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "runners/engine/exec/ready_model.hpp"
#include "runners/engine/exec/requested_model.hpp"

namespace plumb::engine {

/// Largest difference of a model's outputs from the float64 reference, and what rounding explains.
/// Both are relative to the largest magnitude of an output.
struct ReferenceComparison {
  double error = 0.0;
  double most = 0.0;
};

/// Compares the outputs of a ready model with what the reference computes of the same graph from
/// the same operands. Nothing is compared if a layer has no reference, or if the graph has more
/// multiply-accumulates than `macs_left`, which those of the comparison are taken from.
[[nodiscard]] std::optional<ReferenceComparison> compare_with_reference(const RequestedModel& model,
                                                                        const ReadyModel& ready,
                                                                        std::int64_t& macs_left);

}  // namespace plumb::engine
