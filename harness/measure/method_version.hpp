// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace plumb {

/// Names the version of the measurement method (docs/reference/measurement.md). Part of the
/// environment's identity: a change that can move a number makes a new one, and no series crosses
/// it unseen.
inline constexpr const char* kMethodVersion = "5";

}  // namespace plumb
