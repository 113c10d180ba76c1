// SPDX-License-Identifier: Apache-2.0
#include "harness/worker/protocol/launch_mode.hpp"

namespace plumb::worker {

std::string_view to_text(LaunchMode mode) {
  switch (mode) {
    case LaunchMode::kEager:
      return "eager";
    case LaunchMode::kCaptured:
      return "captured";
    case LaunchMode::kStreams:
      return "streams";
  }
  return "unknown";
}

std::optional<LaunchMode> find_launch_mode(const results::ExecutionMode& mode) {
  if (mode.eager) {
    return LaunchMode::kEager;
  }
  if (mode.captured) {
    return LaunchMode::kCaptured;
  }
  return mode.streams ? std::optional(LaunchMode::kStreams) : std::nullopt;
}

}  // namespace plumb::worker
