// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/results/environment.hpp"

namespace plumb::onednn {

/// Describes the oneDNN library that is mapped. Its identity is what a series must not mix:
/// library, instruction set and threading runtime. Its facts say where it came from.
[[nodiscard]] results::Environment describe_library();

}  // namespace plumb::onednn
