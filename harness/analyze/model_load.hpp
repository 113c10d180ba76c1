// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "harness/results/load_execution.hpp"

namespace plumb {

struct ModelBounds;

/// Returns the newest load of each mode and scenario, in the order of their first.
[[nodiscard]] std::vector<LoadExecution> newest_loads(std::span<const LoadExecution> loads);

/// Adds a run's loads of a model to its bounds, the newest of each mode and scenario, and what must
/// be known of them to its findings: why one is invalid or was not executed, a disturbed host.
/// Pure.
void add_loads(std::span<const LoadExecution> loads, ModelBounds& model);

}  // namespace plumb
