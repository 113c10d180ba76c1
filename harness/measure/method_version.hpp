// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace plumb::measure {

/// Version of the measurement method (docs/reference/measurement.md). It is part of the
/// environment's identity. A change that can move a measured number gets a new version, so that no
/// series crosses it unseen.
inline constexpr const char* kMethodVersion = "5";

}  // namespace plumb::measure
