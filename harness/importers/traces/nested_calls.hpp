// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "harness/importers/traces/description_table.hpp"
#include "harness/results/trace/executed_trace.hpp"

namespace plumb::importers {

/// Returns the kind of work that an operator of ONNX Runtime or PyTorch does.
[[nodiscard]] results::ExecutedCall::Kind kind_of_operator(std::string_view operation);

/// Returns the outermost calls of each thread. Copies and pads within them are calls of their own,
/// and their time is taken from the call around them, whose operation is their name.
[[nodiscard]] std::vector<results::TracedCall> outermost_calls(
    std::vector<results::TracedCall> calls, DescriptionTable& descriptions);

/// Gives each call the layer of the range that surrounds it in its thread.
///
/// Ranges are calls whose descriptions have an output, and do not overlap in a thread. `calls` and
/// the result are in the order of outermost_calls().
void place_in_ranges(std::vector<results::TracedCall>& calls,
                     std::vector<results::TracedCall> ranges,
                     DescriptionTable& descriptions);

}  // namespace plumb::importers
