// SPDX-License-Identifier: Apache-2.0
#include "harness/worker/protocol/backend.hpp"

namespace plumb::worker {

std::string_view to_text(Backend::LaunchMode mode) {
  switch (mode) {
    case Backend::LaunchMode::kEager:
      return "eager";
    case Backend::LaunchMode::kCaptured:
      return "captured";
    case Backend::LaunchMode::kStreams:
      return "streams";
  }
  return "unknown";
}

std::optional<Backend::LaunchMode> find_launch_mode(const results::ExecutionMode& mode) {
  if (mode.eager) {
    return Backend::LaunchMode::kEager;
  }
  if (mode.captured) {
    return Backend::LaunchMode::kCaptured;
  }
  return mode.streams ? std::optional(Backend::LaunchMode::kStreams) : std::nullopt;
}

}  // namespace plumb::worker
