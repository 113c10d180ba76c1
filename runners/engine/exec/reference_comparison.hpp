// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "runners/engine/exec/ready_model.hpp"
#include "runners/engine/exec/requested_model.hpp"

namespace plumb::engine {

/// Compares the outputs of a ready model with what the reference computes of the same graph from
/// the same operands. Nothing is compared if a layer has no reference, or if the graph has more
/// multiply-accumulates than `macs_left`, which those of the comparison are taken from. Calls
/// `after_layer`, if it is given, after each layer: the comparison may take long.
[[nodiscard]] std::optional<Deviation> compare_with_reference(
    const RequestedModel& model,
    const ReadyModel& ready,
    std::int64_t& macs_left,
    const std::function<void()>& after_layer = {});

}  // namespace plumb::engine
