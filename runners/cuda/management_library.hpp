// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "harness/results/environment.hpp"

namespace plumb::cuda {

/// Adds what NVIDIA's management library (NVML) says of the GPU: the driver's version and MIG's
/// state to the identity; clocks, power limit and, as "gpu.other_processes", how many others
/// compute on it to the facts. Where the library or one of its answers is missing, so is the entry,
/// and "gpu.management" says why. Throws nothing.
void describe_management(const std::string& uuid, Environment& environment);

}  // namespace plumb::cuda
