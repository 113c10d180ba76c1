// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/results/attributes.hpp"

namespace plumb {

/// Adds what was read beside another block of the same executions: of a name that both have the
/// mean of the medians by their n, the wider of the intervals, all the values.
void add_readings(Readings& sum, const Readings& block);

}  // namespace plumb
