// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "harness/base/timestamp.hpp"

namespace plumb {

struct SqliteTables;

/// Empties the samples and removes the timed races of runs that started before `before` and carry
/// no tag. Rows that a tagged run reuses keep their samples; rows that another run or a derived
/// record refers to are not removed. Returns the rows touched. Inside a write transaction only.
std::size_t collect_garbage_of(SqliteTables& tables, Timestamp before);

}  // namespace plumb
