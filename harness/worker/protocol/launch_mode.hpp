// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "harness/results/execution.hpp"

namespace plumb::worker {

/// Ways to hand a whole model to a device. It runs launch after launch, as one captured graph, or
/// as one captured graph in which independent branches run on streams of their own.
enum class LaunchMode { kEager, kCaptured, kStreams };

[[nodiscard]] std::string_view to_text(LaunchMode mode);  ///< "eager", "captured", "streams"

/// Returns the way that a mode names. Empty: it leaves that to the backend.
[[nodiscard]] std::optional<LaunchMode> find_launch_mode(const results::ExecutionMode& mode);

}  // namespace plumb::worker
