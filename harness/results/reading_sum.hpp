// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/results/attributes.hpp"

namespace plumb::results {

/// Adds the readings of another block of the same executions. If both have a name, the median is
/// the mean of both, weighted by n. The interval spans both intervals, and n is the sum.
void add_readings(Readings& sum, const Readings& block);

}  // namespace plumb::results
